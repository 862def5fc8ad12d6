//! Simulates the Deployment controller and the scheduler for the in-memory API server.

use std::collections::BTreeMap;

use crate::{objects::Deployment, view::PodView};

/// The next pods to create and delete.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    pub(super) create: usize,
    pub(super) delete: Vec<&'a str>,
}

/// Compares desired and existing pods. A rolling update has maxSurge and maxUnavailable of 25 %.
pub(super) fn plan<'a>(deployment: &Deployment, pods: &'a [PodView]) -> Plan<'a> {
    let Deployment { replicas, .. } = *deployment;
    let live = || pods.iter().filter(|pod| pod.app == deployment.app && !pod.terminating);
    let (new, old): (Vec<_>, Vec<_>) = live().partition(|pod| pod.version == deployment.version);
    let (max_surge, max_unavailable) = (replicas.div_ceil(4), replicas / 4);
    let headroom = (replicas + max_surge).saturating_sub(new.len() + old.len());
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
    let dispensable = all_ready.saturating_sub(replicas - max_unavailable);
    Plan {
        create: create.min(headroom),
        delete: unready.iter().chain(ready.iter().take(dispensable)).map(name).collect(),
    }
}

/// Schedules a pod: picks the node with the fewest pods of the Deployment's version.
pub(super) fn pick_node<'a>(deployment: &Deployment, nodes: &'a [String], pods: &[PodView]) -> Option<&'a str> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        if pod.app == deployment.app && pod.version == deployment.version && !pod.terminating {
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
    fn pods_are_created_and_deleted_up_to_the_replicas() {
        let existing = pods("v2", 3, 1);
        let cases = [
            (6, 2, vec![]),
            (4, 0, vec![]),
            (2, 0, vec!["v2-2", "v2-3"]),
            (0, 0, vec!["v2-0", "v2-1", "v2-2", "v2-3"]),
        ];
        for (replicas, create, delete) in cases {
            assert_eq!(
                plan(&deployment(replicas), &existing),
                Plan { create, delete },
                "{replicas}"
            );
        }
    }

    /// maxSurge and maxUnavailable hold at every step.
    #[test]
    fn a_rolling_update_respects_surge_and_unavailability() {
        let cases = [
            // Old ready pods; new pods: ready, not ready; expected: creates, deletes.
            (8, 0, 0, 2, 2),
            (6, 0, 2, 2, 0),
            (6, 2, 0, 2, 2),
            (0, 8, 0, 0, 0),
        ];
        for (old, ready, unready, create, delete) in cases {
            let existing = [pods("v1", old, 0), pods("v2", ready, unready)].concat();
            let deployment = deployment(8);
            let plan = plan(&deployment, &existing);
            let case = (old, ready, unready);
            assert_eq!((plan.create, plan.delete.len()), (create, delete), "{case:?}");
            assert!(plan.delete.iter().all(|name| name.starts_with("v1")), "{case:?}");
        }
    }

    #[test]
    fn old_pods_that_are_not_ready_are_deleted_first() {
        let existing = [pods("v1", 6, 2), pods("v2", 0, 0)].concat();
        assert_eq!(plan(&deployment(8), &existing).delete, ["v1-6", "v1-7"]);
    }

    #[test]
    fn the_node_with_the_fewest_pods_is_picked() {
        let nodes = ["n0", "n1", "n2"].map(str::to_owned);
        let pick = |pods: &[PodView]| pick_node(&deployment(9), &nodes, pods).map(str::to_owned);
        assert_eq!(pick(&[]).as_deref(), Some("n0"));
        assert_eq!(pick(&pods("v2", 1, 0)).as_deref(), Some("n1"));
        assert_eq!(pick(&pods("v2", 2, 0)).as_deref(), Some("n2"));
        assert_eq!(pick(&pods("v1", 2, 0)).as_deref(), Some("n0"));
    }
}
