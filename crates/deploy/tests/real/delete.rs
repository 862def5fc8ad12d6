//! Deletions that take time, and what other runs have left.

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams},
};
use serde_json::json;
use testenv::{Cluster, ControlPlane, objects::create};

use crate::harness::{NAMESPACE, admin, deploy, installed, services};

/// Only the kubelet of its node removes a pod.
#[tokio::test]
async fn a_pod_on_a_node_that_is_gone_is_named_with_the_way_out() {
    let cluster = Cluster::start().await.unwrap();
    let client = cluster.control_plane().client().unwrap();
    let admin = admin(cluster.control_plane());
    let (success, output) = deploy(&admin, &["--shadow", "--mirroring"]).await;
    assert!(success, "{output}");
    cluster.kwok().stop().await.unwrap();
    let (success, output) = deploy(&admin, &["--delete", "--timeout", "1"]).await;
    let advice = "if the node of a pod is gone for good, delete the node (`kubectl delete node NODE`) or the pod \
                  (`kubectl --namespace endpointslice-system delete pod --force POD`), then run the command again";
    assert!(!success && output.contains(advice), "{output}");
    assert!(output.contains("on the node zone-"), "{output}");

    // As kubectl does.
    let force = DeleteParams::default().grace_period(0);
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        pods.delete(&pod.name_any(), &force).await.unwrap();
    }
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success, "{output}");
    assert_eq!(installed(&client).await, [""; 0]);
}

/// As after a check that was killed.
#[tokio::test]
async fn objects_of_an_earlier_check_are_deleted_unless_in_a_dry_run() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let admin = admin(&control_plane);
    let api: Api<Service> = Api::default_namespaced(client.clone());
    let metadata = json!({"name": "left", "labels": {"endpointslice-rs/check": ""}});
    create(&api, json!({"metadata": metadata, "spec": {"ports": [{"port": 80}]}}))
        .await
        .unwrap();
    let (success, output) = deploy(&admin, &["--delete", "--dry-run"]).await;
    assert!(success, "{output}");
    assert_eq!(services(&client).await, ["left"]);
    let (success, output) = deploy(&admin, &["--delete"]).await;
    assert!(success, "{output}");
    assert_eq!(services(&client).await, [""; 0]);
}
