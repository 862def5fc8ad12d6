//! The whole small cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use testenv::Cluster;

use crate::until;

const REPLICAS: usize = 10;

/// Ten pods spread over the zones, with a port named `http`.
pub(crate) fn deployment(image: &str) -> Deployment {
    let labels = json!({"app": "web"});
    serde_json::from_value(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{"name": "web", "image": image, "ports": [{"name": "http", "containerPort": 8080}]}],
                    "topologySpreadConstraints": [{
                        "maxSkew": 1,
                        "topologyKey": "topology.kubernetes.io/zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": labels},
                        "matchLabelKeys": ["pod-template-hash"],
                    }],
                },
            },
        },
    }))
    .unwrap()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Waits until exactly so many pods are there, all of this image and ready.
pub(crate) async fn rolled_out(pods: &Api<Pod>, image: &str, replicas: usize) {
    until(&format!("{replicas} pods run {image}"), async || {
        let list = pods.list(&ListParams::default()).await.unwrap().items;
        list.len() == replicas
            && list.iter().all(|pod| {
                let spec = pod.spec.as_ref().unwrap();
                spec.containers[0].image.as_deref() == Some(image) && is_ready(pod)
            })
    })
    .await;
}

/// How many pods there are in each zone.
async fn pods_by_zone(pods: &Api<Pod>, nodes: &Api<Node>) -> BTreeMap<String, usize> {
    let zones: BTreeMap<_, _> = nodes
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .map(|node| {
            let mut labels = node.metadata.labels.unwrap();
            let zone = labels.remove("topology.kubernetes.io/zone").unwrap();
            (node.metadata.name.unwrap(), zone)
        })
        .collect();
    let mut counts = BTreeMap::new();
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let node = pod.spec.unwrap().node_name.unwrap();
        *counts.entry(zones[&node].clone()).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn a_deployment_of_ten_pods_rolls_over_three_zones() {
    let cluster = Cluster::builder().nodes_per_zone(2).start().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let nodes: Api<Node> = Api::all(client.clone());

    deployments
        .create(&PostParams::default(), &deployment("web:1"))
        .await
        .unwrap();
    rolled_out(&pods, "web:1", REPLICAS).await;
    let zones = pods_by_zone(&pods, &nodes).await;
    let mut counts: Vec<_> = zones.values().copied().collect();
    counts.sort_unstable();
    assert_eq!(counts, [3, 3, 4], "{zones:?}");

    let image = json!({"spec": {"template": {"spec": {
        "containers": [{"name": "web", "image": "web:2"}],
    }}}});
    let patch = Patch::Strategic(image);
    deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
    rolled_out(&pods, "web:2", REPLICAS).await;
    assert_eq!(pods_by_zone(&pods, &nodes).await.len(), 3);

    let slices: Api<EndpointSlice> = Api::all(client);
    let list = slices.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items, [], "nobody should make slices here");
    for part in [cluster.controller_manager(), cluster.scheduler(), cluster.kwok()] {
        assert!(part.is_running());
    }
}
