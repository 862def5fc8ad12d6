//! Real Deployments on the small cluster: they roll and scale, and nodes go.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, EvictParams, Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::{CheckConfig, Invariant, Recorder, Window, assert_clean};
use testenv::{
    Cluster, Rolling,
    objects::{create, slices_of},
};

use crate::{
    programs::Ours,
    world::{QUIET, kubeconfig_flag},
};

const SERVICES: [&str; 6] = ["plain", "headless", "both", "zone", "unready", "auto"];

/// Services of several kinds that select the same pods.
async fn make_services(client: &Client) {
    let services: Api<Service> = Api::default_namespaced(client.clone());
    for name in SERVICES {
        let mut service = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        });
        let (field, value) = match name {
            "headless" => ("clusterIP", json!("None")),
            "both" => ("ipFamilyPolicy", json!("RequireDualStack")),
            "zone" => ("trafficDistribution", json!("PreferSameZone")),
            "unready" => ("publishNotReadyAddresses", json!(true)),
            _ => ("sessionAffinity", json!("None")),
        };
        service["spec"][field] = value;
        if name == "auto" {
            service["metadata"]["annotations"] = json!({"service.kubernetes.io/topology-mode": "Auto"});
        }
        create(&services, service).await.unwrap();
    }
}

/// The node with the most pods of a Deployment, and their names.
async fn busiest(rolling: &Rolling) -> (String, Vec<String>) {
    let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in rolling.pods().await.unwrap() {
        let (name, node) = (pod.name_any(), pod.spec.unwrap().node_name.unwrap());
        by_node.entry(node).or_default().push(name);
    }
    by_node.into_iter().max_by_key(|(_, pods)| pods.len()).unwrap()
}

/// As a person would do it: nothing new comes, and what is there is asked to leave.
async fn drain(client: &Client, rolling: &Rolling) -> String {
    let nodes: Api<Node> = Api::all(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let (node, leaving) = busiest(rolling).await;
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    nodes.patch(&node, &PatchParams::default(), &cordon).await.unwrap();
    for name in leaving {
        pods.evict(&name, &EvictParams::default()).await.unwrap();
    }
    node
}

/// I4, I6, I7: a pod that stays ready never disappears, and nothing is written twice where once is enough.
#[tokio::test]
async fn i4_i6_rolling_updates_lose_no_pod_and_waste_no_write() {
    let cluster = Cluster::builder().nodes_per_zone(2).start().await.unwrap();
    let control_plane = cluster.control_plane();
    let client = control_plane.client().unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let rest = async |next: &str, window| {
        recorder.wait_quiescent(QUIET).await.unwrap();
        recorder.mark(next, window).await.unwrap();
    };
    let ours = Ours::start(&[&kubeconfig_flag(control_plane)], &[], &[]).await;
    make_services(&client).await;
    let rolling = Rolling::start(&client, "web", "web:1", 12).await.unwrap();
    rest("a new template", Window::Any).await;
    rolling.roll("web:2", 12).await.unwrap();
    rest("one more pod", Window::OneWritePerSlice).await;
    rolling.roll("web:2", 13).await.unwrap();
    rest("more than one slice holds", Window::Any).await;
    rolling.roll("web:2", 130).await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();
    assert_eq!(slices_of(&client, "default", "plain").await.unwrap().len(), 2);
    rest("many roll", Window::Any).await;
    rolling.roll("web:3", 130).await.unwrap();
    rest("few again", Window::Any).await;
    rolling.roll("web:3", 20).await.unwrap();
    rest("a node is drained", Window::Any).await;
    let node = drain(&client, &rolling).await;
    rolling.is_out("web:3", 20).await.unwrap();
    nodes.delete(&node, &DeleteParams::default()).await.unwrap();
    rest("a node is lost", Window::OneWritePerSlice).await;
    let (node, lost) = busiest(&rolling).await;
    nodes.delete(&node, &DeleteParams::default()).await.unwrap();
    rest("so are its pods", Window::Any).await;
    for name in lost {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let at_once = DeleteParams::default().grace_period(0);
        pods.delete(&name, &at_once).await.unwrap();
    }
    rolling.is_out("web:3", 20).await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();

    let history = recorder.history().unwrap();
    let report = assert_clean(&history, &CheckConfig::default(), env!("CARGO_TARGET_TMPDIR"));
    println!("{report}");
    for judged in [Invariant::I4, Invariant::I6, Invariant::I7] {
        assert!(report.checks.contains_key(&judged), "{report}");
    }
    ours.stop().await;
}
