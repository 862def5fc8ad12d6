//! A watch of a resource that the API server may lack (CX3).

use apisim::faults::RuleHandle;
use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::api::{Api, DeleteParams, PostParams};
use serde::Deserialize;
use slice_runtime::SourceState;
use tokio::sync::mpsc;

use super::*;

/// Watches namespaces, and nodes where they are served; reports syncs, and events of nodes.
struct Reporter {
    reports: mpsc::UnboundedSender<String>,
}

impl Reporter {
    fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (reports, received) = mpsc::unbounded_channel();
        (Self { reports }, received)
    }

    fn report(&self, report: String) {
        self.reports.send(report).unwrap();
    }
}

#[derive(Clone, Copy)]
enum Watch {
    Namespaces,
    Nodes,
}

#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

impl Controller for Reporter {
    type WatchId = Watch;
    type Object = (Watch, String);

    fn watches(&self) -> Vec<WatchSpec<Watch, (Watch, String)>> {
        let watch = |id, resource| {
            let name = move |object: Named| (id, object.metadata.name.unwrap());
            WatchSpec::new(id, "v1", resource, name).cluster_scoped()
        };
        vec![
            watch(Watch::Namespaces, "namespaces"),
            watch(Watch::Nodes, "nodes").optional(),
        ]
    }

    fn apply(&mut self, (watch, name): (Watch, String), context: &mut EventContext) {
        if let Watch::Nodes = watch {
            self.report(format!("apply {name}"));
        }
        context.enqueue(Key::new("", "all"));
    }

    fn delete(&mut self, _watch: Watch, object: &ObjectRef, context: &mut EventContext) {
        self.report(format!("delete {}", object.name));
        context.enqueue(Key::new("", "all"));
    }

    fn sync(&mut self, _key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.report("sync".to_owned());
        Ok(SyncResult::default())
    }
}

/// The API server lacks nodes until these are removed.
fn without_nodes(faults: &Faults) -> [RuleHandle; 2] {
    [Verb::List, Verb::Watch].map(|verb| faults.add(Rule::on(verb, "nodes").answer(404)))
}

fn nodes(health: &Health) -> SourceState {
    let states = health.sources();
    let nodes = states.into_iter().find(|(name, _)| *name == "nodes");
    nodes.unwrap().1
}

fn node(name: &str) -> Node {
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..Node::default()
    }
}

#[tokio::test]
async fn preflight_accepts_that_an_optional_resource_is_absent() {
    let (client, faults) = server();
    let absence = without_nodes(&faults);
    let (controller, _) = Reporter::new();
    assert_eq!(preflight(&controller, client.clone(), &options()).await, []);
    for rule in absence {
        rule.remove();
    }
    faults.add(Rule::on(Verb::List, "nodes").answer(403));
    let errors = preflight(&controller, client, &options()).await;
    assert!(matches!(&errors[..], [PreflightError::Forbidden { .. }]), "{errors:?}");
}

#[tokio::test(start_paused = true)]
async fn an_optional_resource_appears_and_disappears() {
    let (client, faults) = server();
    let api: Api<Node> = Api::all(client.clone());
    let health = Arc::new(Health::default());
    let (controller, mut reports) = Reporter::new();
    let absence = without_nodes(&faults);
    let story = async {
        assert_eq!(reports.recv().await.unwrap(), "sync", "nothing waits for nodes");
        assert!(nodes(&health).absent && health.is_ready());

        api.create(&PostParams::default(), &node("a")).await.unwrap();
        for rule in absence {
            rule.remove();
        }
        assert_eq!(reports.recv().await.unwrap(), "apply a");
        assert_eq!(reports.recv().await.unwrap(), "sync");
        while !nodes(&health).synced {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(!nodes(&health).absent);

        let absence = without_nodes(&faults);
        while !nodes(&health).absent {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(health.is_ready());
        api.delete("a", &DeleteParams::default()).await.unwrap();
        api.create(&PostParams::default(), &node("b")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert!(reports.is_empty(), "what was known stays known");

        // Only a complete list tells what was deleted.
        for rule in absence {
            rule.remove();
        }
        for report in ["apply b", "delete a", "sync"] {
            assert_eq!(reports.recv().await.unwrap(), report);
        }
    };
    let metrics = Arc::new(Metrics::new(&prometheus::Registry::new(), "test", "test").unwrap());
    run(controller, client, options(), Arc::clone(&health), metrics, story).await;
}
