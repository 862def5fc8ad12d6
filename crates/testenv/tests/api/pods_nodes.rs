//! Pods and Nodes, as inputs of slices (R57–R65).

use serde_json::{Value, json};

use super::fixtures::{node, pod};
use super::{Api, version, with};

/// The name of a node of this test.
fn node_name(api: &Api) -> String {
    format!("{}-node", api.namespace)
}

#[tokio::test]
async fn a_new_pod_is_pending() {
    let api = Api::new().await;
    let status = json!({"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]});
    let created = api.create("pods", &with(pod("a"), "status", status)).await.ok();
    assert_eq!(created["status"]["phase"], "Pending");
    assert_eq!(created["status"]["podIP"], json!(null));
    assert_eq!(created["status"]["conditions"], json!(null));
}

#[tokio::test]
async fn inputs_of_slices_are_stored() {
    let api = Api::new().await;
    let spec = json!({
        "nodeName": "node-1",
        "hostname": "web-0",
        "subdomain": "web",
        "containers": [{"name": "main", "image": "example.com/main", "ports": [{"name": "http", "containerPort": 8080}]}],
        "initContainers": [{"name": "side", "image": "example.com/side", "restartPolicy": "Always", "ports": [{"containerPort": 9090, "protocol": "UDP"}]}],
    });
    let created = api.create("pods", &with(pod("a"), "spec", spec.clone())).await.ok();
    for field in ["nodeName", "hostname", "subdomain"] {
        assert_eq!(created["spec"][field], spec[field], "{field}");
    }
    assert_eq!(
        created["spec"]["containers"][0]["ports"],
        json!([{"name": "http", "containerPort": 8080, "protocol": "TCP"}])
    );
    assert_eq!(
        created["spec"]["initContainers"][0]["ports"],
        json!([{"containerPort": 9090, "protocol": "UDP"}])
    );
    assert_eq!(created["spec"]["initContainers"][0]["restartPolicy"], "Always");
    assert_eq!(created["spec"]["restartPolicy"], "Always");
}

/// The status update of a kubelet.
#[tokio::test]
async fn a_status_update_makes_a_pod_ready() {
    let api = Api::new().await;
    api.create("pods", &pod("a")).await.ok();
    let transition = "2024-01-02T03:04:05Z";
    let status = json!({"status": {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}, {"ip": "fd00::1"}],
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": transition}],
    }});
    let written = api.patch("merge", "pods", "a/status", &status).await.ok();
    assert_eq!(written["status"]["podIPs"], status["status"]["podIPs"]);
    let condition = &written["status"]["conditions"][0];
    assert_eq!(
        (
            &condition["type"],
            &condition["status"],
            &condition["lastTransitionTime"]
        ),
        (&json!("Ready"), &json!("True"), &json!(transition))
    );
    assert_eq!(api.get("pods", "a").await.ok(), written);
}

#[tokio::test]
async fn one_address_makes_a_list_of_addresses() {
    let api = Api::new().await;
    api.create("pods", &pod("a")).await.ok();
    let single = json!({"status": {"podIP": "10.1.2.3"}});
    let written = api.patch("merge", "pods", "a/status", &single).await.ok();
    assert_eq!(written["status"]["podIPs"], json!([{"ip": "10.1.2.3"}]));
}

#[tokio::test]
async fn labels_of_a_pod_can_change_but_not_its_node() {
    let api = Api::new().await;
    let created = api
        .create("pods", &with(pod("a"), "spec.nodeName", json!("node-1")))
        .await
        .ok();
    let labelled = with(created, "metadata.labels", json!({"app": "web"}));
    let labelled = api.update("pods", &labelled).await.ok();
    assert_eq!(labelled["metadata"]["labels"], json!({"app": "web"}));
    let moved = api
        .update("pods", &with(labelled, "spec.nodeName", json!("node-2")))
        .await;
    assert_eq!(moved.error_summary(), "422 Invalid /Pod \"a\"");
    assert_eq!(moved.causes(), ["FieldValueForbidden spec"]);
}

/// The status of a terminating pod can still be updated (R59).
#[tokio::test]
async fn r59_a_terminating_pod_keeps_its_status() {
    let api = Api::new().await;
    api.create("pods", &with(pod("a"), "spec.nodeName", json!("node-1")))
        .await
        .ok();
    let ready = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    api.patch("merge", "pods", "a/status", &ready("True")).await.ok();
    let marked = api.delete("pods", "a", &json!({})).await.ok();
    assert_eq!(marked["status"]["conditions"][0]["status"], "True");
    let written = api.patch("merge", "pods", "a/status", &ready("False")).await.ok();
    assert_eq!(written["status"]["conditions"][0]["status"], "False");
    assert_eq!(
        written["metadata"]["deletionTimestamp"],
        marked["metadata"]["deletionTimestamp"]
    );
}

#[tokio::test]
async fn a_pod_without_containers_is_rejected() {
    let api = Api::new().await;
    let response = api.create("pods", &with(pod("a"), "spec.containers", json!([]))).await;
    assert_eq!(response.error_summary(), "422 Invalid /Pod \"a\"");
    assert_eq!(response.causes(), ["FieldValueRequired spec.containers"]);
}

#[tokio::test]
async fn labels_and_status_of_a_node_are_updated_separately() {
    let api = Api::new().await;
    let name = node_name(&api);
    let zoned = with(
        node(&name),
        "metadata.labels",
        json!({"topology.kubernetes.io/zone": "zone-a"}),
    );
    let created = api.create("nodes", &zoned).await.ok();
    assert_eq!(created["metadata"]["labels"]["topology.kubernetes.io/zone"], "zone-a");
    let status = json!({"status": {
        "allocatable": {"cpu": "4"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }});
    let ready = api
        .patch("strategic-merge", "nodes", &format!("{name}/status"), &status)
        .await
        .ok();
    assert_eq!(ready["status"]["allocatable"]["cpu"], "4");
    assert_eq!(ready["status"]["conditions"][0]["status"], "True");
    let cordoned = json!({"spec": {"unschedulable": true}});
    let cordoned = api.patch("merge", "nodes", &name, &cordoned).await.ok();
    assert_eq!(
        (&cordoned["spec"]["unschedulable"], &cordoned["status"]),
        (&json!(true), &ready["status"])
    );
    api.delete("nodes", &name, &json!({})).await.ok();
    assert_eq!(
        api.get("nodes", &name).await.error_summary(),
        format!("404 NotFound /nodes {name:?}")
    );
}

/// A no-op update of a Node causes no watch event.
#[tokio::test]
async fn an_equal_status_keeps_the_version() {
    let api = Api::new().await;
    let name = node_name(&api);
    api.create("nodes", &node(&name)).await.ok();
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let path = format!("{name}/status");
    let first = api.patch("strategic-merge", "nodes", &path, &status).await.ok();
    let second = api.patch("strategic-merge", "nodes", &path, &status).await.ok();
    assert_eq!(version(&first), version(&second));
}

#[tokio::test]
async fn namespaces_are_active_and_labelled_with_their_name() {
    let api = Api::new().await;
    let namespace: Value = api.get("namespaces", &api.namespace).await.ok();
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(
        namespace["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": api.namespace})
    );
}
