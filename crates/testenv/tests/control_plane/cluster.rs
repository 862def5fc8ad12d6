//! The small cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use testenv::{Cluster, RollingDeployment};

const REPLICAS: usize = 10;

/// Number of pods in each zone.
async fn pods_by_zone(rolling: &RollingDeployment, nodes: &Api<Node>) -> BTreeMap<String, usize> {
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
    for pod in rolling.pods().await.unwrap() {
        let node = pod.spec.unwrap().node_name.unwrap();
        *counts.entry(zones[&node].clone()).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn a_deployment_of_ten_pods_rolls_over_three_zones() {
    let cluster = Cluster::builder().nodes_per_zone(2).start().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let nodes: Api<Node> = Api::all(client.clone());

    let rolling = RollingDeployment::start(&client, "web", "web:1", REPLICAS)
        .await
        .unwrap();
    let zones = pods_by_zone(&rolling, &nodes).await;
    let mut counts: Vec<_> = zones.values().copied().collect();
    counts.sort_unstable();
    assert_eq!(counts, [3, 3, 4], "{zones:?}");

    rolling.roll("web:2", REPLICAS).await.unwrap();
    assert_eq!(pods_by_zone(&rolling, &nodes).await.len(), 3);

    let slices: Api<EndpointSlice> = Api::all(client);
    let list = slices.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items, [], "no slice controller runs here");
    for part in [cluster.controller_manager(), cluster.scheduler(), cluster.kwok()] {
        assert!(part.is_running());
    }
}
