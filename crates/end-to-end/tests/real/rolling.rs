//! Rolling and scaling Deployments, drained and deleted nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, EvictParams, Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::{CheckConfig, Invariant, Recorder, Window, assert_clean};
use testenv::{
    Cluster, ControlPlane, RollingDeployment,
    objects::{create, slices_of},
};

use crate::{
    accounts::{self, Accounts},
    harness::{IDLE, start_deployed},
};

const SERVICES: [&str; 6] = ["plain", "headless", "both", "zone", "unready", "auto"];

/// Creates Services of several kinds that select the same pods.
async fn create_services(client: &Client) {
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
async fn busiest(deployment: &RollingDeployment) -> (String, Vec<String>) {
    let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in deployment.pods().await.unwrap() {
        let (name, node) = (pod.name_any(), pod.spec.unwrap().node_name.unwrap());
        by_node.entry(node).or_default().push(name);
    }
    by_node.into_iter().max_by_key(|(_, pods)| pods.len()).unwrap()
}

/// Cordons the busiest node and evicts its pods.
async fn drain(client: &Client, deployment: &RollingDeployment) -> String {
    let nodes: Api<Node> = Api::all(client.clone());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let (node, pods_on_node) = busiest(deployment).await;
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    nodes.patch(&node, &PatchParams::default(), &cordon).await.unwrap();
    for name in pods_on_node {
        pods.evict(&name, &EvictParams::default()).await.unwrap();
    }
    node
}

/// A pod that stays ready is never missing, and there are no spurious writes (I4, I6, I7).
#[tokio::test]
async fn i4_i6_rolling_updates_have_no_gap_and_no_spurious_writes() {
    let builder = accounts::control_plane(ControlPlane::builder());
    let builder = Cluster::builder().control_plane(builder).nodes_per_zone(2);
    let cluster = builder.start().await.unwrap();
    let control_plane = cluster.control_plane();
    let client = control_plane.client().unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let start_phase = async |next: &str, window| {
        recorder.wait_quiescent(IDLE).await.unwrap();
        recorder.mark(next, window).await.unwrap();
    };
    let accounts = Accounts::deploy(control_plane).await;
    let ours = start_deployed(control_plane, &accounts).await;
    create_services(&client).await;
    let deployment = RollingDeployment::start(&client, "web", "web:1", 12).await.unwrap();
    start_phase("a new template", Window::Any).await;
    deployment.roll("web:2", 12).await.unwrap();
    start_phase("one more pod", Window::OneWritePerSlice).await;
    deployment.roll("web:2", 13).await.unwrap();
    start_phase("more than one slice", Window::Any).await;
    deployment.roll("web:2", 130).await.unwrap();
    recorder.wait_quiescent(IDLE).await.unwrap();
    assert_eq!(slices_of(&client, "default", "plain").await.unwrap().len(), 2);
    start_phase("rollout of many pods", Window::Any).await;
    deployment.roll("web:3", 130).await.unwrap();
    start_phase("scale down", Window::Any).await;
    deployment.roll("web:3", 20).await.unwrap();
    start_phase("a node is drained", Window::Any).await;
    let node = drain(&client, &deployment).await;
    deployment.wait_rolled_out("web:3", 20).await.unwrap();
    nodes.delete(&node, &DeleteParams::default()).await.unwrap();
    start_phase("a node is lost", Window::OneWritePerSlice).await;
    let (node, lost) = busiest(&deployment).await;
    nodes.delete(&node, &DeleteParams::default()).await.unwrap();
    start_phase("its pods are deleted", Window::Any).await;
    for name in lost {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let at_once = DeleteParams::default().grace_period(0);
        pods.delete(&name, &at_once).await.unwrap();
    }
    deployment.wait_rolled_out("web:3", 20).await.unwrap();
    recorder.wait_quiescent(IDLE).await.unwrap();

    let history = recorder.history().unwrap();
    let report = assert_clean(&history, &CheckConfig::default(), env!("CARGO_TARGET_TMPDIR"));
    println!("{report}");
    for invariant in [Invariant::I4, Invariant::I6, Invariant::I7] {
        assert!(report.checks.contains_key(&invariant), "{report}");
    }
    ours.stop().await;
}
