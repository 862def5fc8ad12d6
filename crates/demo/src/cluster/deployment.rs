//! The part of the Deployment controller, where there is none: which pods come, and which go.

use std::collections::BTreeMap;

use crate::{objects::Deployment, view::PodView};

/// What a Deployment asks for next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    pub(super) create: usize,
    pub(super) delete: Vec<&'a str>,
}

/// Compares what is asked for with the pods that are there. Pods of another version are replaced while a quarter more, and a
/// quarter less, than asked for are there.
pub(super) fn plan<'a>(deployment: &Deployment, pods: &'a [PodView]) -> Plan<'a> {
    let Deployment { replicas, .. } = *deployment;
    let staying = || pods.iter().filter(|pod| pod.app == deployment.app && !pod.leaving);
    let (new, old): (Vec<_>, Vec<_>) = staying().partition(|pod| pod.version == deployment.version);
    let (more, fewer) = (replicas.div_ceil(4), replicas / 4);
    let room = (replicas + more).saturating_sub(new.len() + old.len());
    let create = replicas.saturating_sub(new.len());
    let name = |pod: &&'a PodView| pod.name.as_str();
    if old.is_empty() {
        return Plan {
            create,
            delete: new.iter().skip(replicas).map(name).collect(),
        };
    }
    let (ready, unready): (Vec<_>, Vec<_>) = old.into_iter().partition(|pod| pod.ready);
    let all_ready = ready.len() + new.iter().filter(|pod| pod.ready).count();
    let dispensable = all_ready.saturating_sub(replicas - fewer);
    Plan {
        create: create.min(room),
        delete: unready.iter().chain(ready.iter().take(dispensable)).map(name).collect(),
    }
}

/// The part of the scheduler: the node with the fewest pods of the same kind.
pub(super) fn place<'a>(deployment: &Deployment, nodes: &'a [String], pods: &[PodView]) -> Option<&'a str> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        if pod.app == deployment.app && pod.version == deployment.version && !pod.leaving {
            *count.entry(&pod.node).or_default() += 1;
        }
    }
    let pods_on = |node: &&String| count.get(node.as_str()).copied().unwrap_or_default();
    nodes.iter().min_by_key(pods_on).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(version: &str, ready: usize, unready: usize) -> Vec<PodView> {
        (0..ready + unready)
            .map(|number| PodView {
                name: format!("{version}-{number}"),
                app: "web".to_owned(),
                version: version.to_owned(),
                node: format!("n{}", number % 2),
                ready: number < ready,
                ..PodView::default()
            })
            .collect()
    }

    fn deployment(replicas: usize) -> Deployment {
        Deployment {
            app: "web",
            version: "v2",
            replicas,
            dual_stack: false,
        }
    }

    #[test]
    fn pods_come_and_go_as_asked_for() {
        let there = pods("v2", 3, 1);
        let cases = [
            (6, 2, vec![]),
            (4, 0, vec![]),
            (2, 0, vec!["v2-2", "v2-3"]),
            (0, 0, vec!["v2-0", "v2-1", "v2-2", "v2-3"]),
        ];
        for (replicas, create, delete) in cases {
            assert_eq!(
                plan(&deployment(replicas), &there),
                Plan { create, delete },
                "{replicas}"
            );
        }
    }

    /// At every step, at most a quarter more and a quarter less than asked for are there.
    #[test]
    fn versions_replace_each_other_a_few_at_a_time() {
        let cases = [
            // Old and ready; new: ready, and not; pods that come, and go.
            (8, 0, 0, 2, 2),
            (6, 0, 2, 2, 0),
            (6, 2, 0, 2, 2),
            (0, 8, 0, 0, 0),
        ];
        for (old, ready, unready, create, delete) in cases {
            let there = [pods("v1", old, 0), pods("v2", ready, unready)].concat();
            let deployment = deployment(8);
            let plan = plan(&deployment, &there);
            let case = (old, ready, unready);
            assert_eq!((plan.create, plan.delete.len()), (create, delete), "{case:?}");
            assert!(plan.delete.iter().all(|name| name.starts_with("v1")), "{case:?}");
        }
    }

    #[test]
    fn old_pods_that_do_not_serve_go_first() {
        let there = [pods("v1", 6, 2), pods("v2", 0, 0)].concat();
        assert_eq!(plan(&deployment(8), &there).delete, ["v1-6", "v1-7"]);
    }

    #[test]
    fn the_emptiest_node_is_taken() {
        let nodes = ["n0", "n1", "n2"].map(str::to_owned);
        let place = |pods: &[PodView]| place(&deployment(9), &nodes, pods).map(str::to_owned);
        assert_eq!(place(&[]).as_deref(), Some("n0"));
        assert_eq!(place(&pods("v2", 1, 0)).as_deref(), Some("n1"));
        assert_eq!(place(&pods("v2", 2, 0)).as_deref(), Some("n2"));
        assert_eq!(place(&pods("v1", 2, 0)).as_deref(), Some("n0"));
    }
}
