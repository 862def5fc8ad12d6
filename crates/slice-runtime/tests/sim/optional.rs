//! A watch of a resource that the API server may lack (CX3).

use apisim::faults::RuleHandle;
use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::api::{Api, DeleteParams, PostParams};

use super::*;
use crate::reporter::Reporter;

/// Makes the API server lack nodes, until the rules are removed.
fn without_nodes(faults: &Faults) -> [RuleHandle; 2] {
    [Verb::List, Verb::Watch].map(|verb| faults.add(Rule::on(verb, "nodes").answer(404)))
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

#[tokio::test(start_paused = true)]
async fn an_optional_resource_appears_and_disappears() {
    let (client, faults) = server();
    let api: Api<Node> = Api::all(client.clone());
    let health = Arc::new(Health::default());
    let (controller, mut reports) = Reporter::new("v1", "nodes");
    let absence = without_nodes(&faults);
    let scenario = async {
        assert_eq!(reports.next().await, "sync", "syncs do not wait for nodes");
        assert!(reports.state(&health).absent && health.is_ready());

        api.create(&PostParams::default(), &node("a")).await.unwrap();
        for rule in absence {
            rule.remove();
        }
        assert_eq!(reports.next().await, "apply a");
        assert_eq!(reports.next().await, "sync");
        while !reports.state(&health).synced {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(!reports.state(&health).absent);

        let absence = without_nodes(&faults);
        while !reports.state(&health).absent {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(health.is_ready());
        api.delete("a", &DeleteParams::default()).await.unwrap();
        api.create(&PostParams::default(), &node("b")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert!(reports.is_empty(), "known objects stay known");

        // Deletions are only known when the list is complete.
        for rule in absence {
            rule.remove();
        }
        for report in ["apply b", "delete a", "sync"] {
            assert_eq!(reports.next().await, report);
        }
    };
    let metrics = Arc::new(Metrics::new("test", "test"));
    let result = run(controller, client, options(), Arc::clone(&health), metrics, scenario).await;
    assert_eq!(result, Ok(()));
}
