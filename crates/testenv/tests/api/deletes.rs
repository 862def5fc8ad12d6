//! Deletes: preconditions, finalizers, grace periods, collections, terminating namespaces (I8, F3, F22, F23, R107).

use http::Method;
use serde_json::json;

use super::fixtures::{endpoints, node, pod, service, slice};
use super::{Api, names, text, version, with};

const SLICE_A: &str = "discovery.k8s.io/endpointslices \"a\"";

/// The response names the deleted object (F3).
#[tokio::test]
async fn f3_a_delete_returns_a_status() {
    let api = Api::new().await;
    let created = api.create("endpointslices", &slice("a")).await.ok();
    let deleted = api.delete("endpointslices", "a", &json!({})).await.ok();
    let details = json!({
        "group": "discovery.k8s.io", "kind": "endpointslices", "name": "a", "uid": created["metadata"]["uid"]
    });
    assert_eq!(
        (&deleted["kind"], &deleted["status"], &deleted["details"]),
        (&json!("Status"), &json!("Success"), &details)
    );
    let again = api.delete("endpointslices", "a", &json!({})).await;
    assert_eq!(again.error_summary(), format!("404 NotFound {SLICE_A}"));
}

/// A delete with preconditions does not delete a recreated object (I8, F23).
#[tokio::test]
async fn i8_preconditions() {
    let api = Api::new().await;
    let created = api.create("endpointslices", &slice("a")).await.ok();
    let uid = text(&created, "/metadata/uid");
    let changed = with(created.clone(), "metadata.annotations", json!({"a": "b"}));
    let changed = api.update("endpointslices", &changed).await.ok();
    let other = "4c1d0d5c-0000-0000-0000-000000000000";
    for preconditions in [
        json!({"uid": other}),
        json!({"resourceVersion": version(&created)}),
        json!({"uid": uid, "resourceVersion": version(&created)}),
        json!({"uid": other, "resourceVersion": version(&changed)}),
    ] {
        let response = api
            .delete("endpointslices", "a", &json!({ "preconditions": preconditions }))
            .await;
        response.assert_rejected(
            "409 Conflict discovery.k8s.io/EndpointSlice \"a\"",
            "Operation cannot be fulfilled on EndpointSlice.discovery.k8s.io \"a\": ",
        );
    }
    let right = json!({"preconditions": {"uid": uid, "resourceVersion": version(&changed)}});
    assert_eq!(api.delete("endpointslices", "a", &right).await.code, 200);
}

#[tokio::test]
async fn preconditions_on_a_missing_object() {
    let api = Api::new().await;
    let options = json!({"preconditions": {"uid": "1", "resourceVersion": "1"}});
    let response = api.delete("endpointslices", "a", &options).await;
    assert_eq!(response.error_summary(), format!("404 NotFound {SLICE_A}"));
}

/// An object with a finalizer gets a deletion timestamp, and is deleted with its last finalizer (D8).
#[tokio::test]
async fn a_finalizer_delays_the_deletion() {
    let api = Api::new().await;
    let held = with(slice("a"), "metadata.finalizers", json!(["example.com/hold"]));
    let created = api.create("endpointslices", &held).await.ok();
    let marked = api.delete("endpointslices", "a", &json!({})).await.ok();
    assert_eq!(marked["kind"], "EndpointSlice");
    assert_ne!(marked["metadata"]["deletionTimestamp"], json!(null));
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_ne!(version(&marked), version(&created));
    let again = api.delete("endpointslices", "a", &json!({})).await.ok();
    assert_eq!(version(&again), version(&marked), "deleting again changes nothing");
    let longer = with(
        marked.clone(),
        "metadata.finalizers",
        json!(["example.com/hold", "example.com/more"]),
    );
    assert_eq!(
        api.update("endpointslices", &longer).await.causes(),
        ["FieldValueForbidden metadata.finalizers"]
    );
    let released = api
        .update("endpointslices", &with(marked, "metadata.finalizers", json!([])))
        .await;
    assert_eq!(released.code, 200);
    assert_eq!(api.get("endpointslices", "a").await.code, 404);
}

/// An unconditional update removes the finalizers of a terminating slice, which deletes it (M94, D8).
#[tokio::test]
async fn an_update_can_delete_a_terminating_object() {
    let api = Api::new().await;
    let held = with(slice("a"), "metadata.finalizers", json!(["example.com/hold"]));
    api.create("endpointslices", &held).await.ok();
    let marked = api.delete("endpointslices", "a", &json!({})).await.ok();
    let replaced = api.update("endpointslices", &slice("a")).await.ok();
    assert_eq!(
        replaced["metadata"]["deletionTimestamp"],
        marked["metadata"]["deletionTimestamp"]
    );
    assert_eq!(api.get("endpointslices", "a").await.code, 404);
}

/// A terminating object keeps its name: a create conflicts (R152).
#[tokio::test]
async fn a_create_conflicts_with_a_terminating_object() {
    let api = Api::new().await;
    let held = with(slice("a"), "metadata.finalizers", json!(["example.com/hold"]));
    api.create("endpointslices", &held).await.ok();
    api.delete("endpointslices", "a", &json!({})).await.ok();
    let next = api.create("endpointslices", &slice("a")).await;
    next.assert_rejected(
        &format!("409 AlreadyExists {SLICE_A}"),
        "object is being deleted: endpointslices.discovery.k8s.io \"a\" already exists",
    );
}

/// A pod on a node is terminating for its grace period; one without a node is deleted at once (R59).
#[tokio::test]
async fn pods_on_nodes_are_deleted_gracefully() {
    let api = Api::new().await;
    api.create("pods", &with(pod("bound"), "spec.nodeName", json!("node-1")))
        .await
        .ok();
    api.create("pods", &pod("loose")).await.ok();
    let marked = api.delete("pods", "bound", &json!({})).await.ok();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_ne!(marked["metadata"]["deletionTimestamp"], json!(null));
    let shorter = api
        .delete("pods", "bound", &json!({"gracePeriodSeconds": 5}))
        .await
        .ok();
    assert_eq!(shorter["metadata"]["deletionGracePeriodSeconds"], 5);
    assert_eq!(
        api.delete("pods", "bound", &json!({"gracePeriodSeconds": 0}))
            .await
            .code,
        200
    );
    assert_eq!(api.get("pods", "bound").await.code, 404);
    let gone = api.delete("pods", "loose", &json!({})).await.ok();
    assert_eq!(
        (&gone["kind"], &gone["metadata"]["name"]),
        (&json!("Pod"), &json!("loose"))
    );
    assert_eq!(api.get("pods", "loose").await.code, 404);
}

/// A pod in a terminal phase has no grace period.
#[tokio::test]
async fn terminal_pods_are_deleted_at_once() {
    let api = Api::new().await;
    api.create("pods", &with(pod("a"), "spec.nodeName", json!("node-1")))
        .await
        .ok();
    let ended = json!({"status": {"phase": "Succeeded"}});
    api.patch("merge", "pods", "a/status", &ended).await.ok();
    api.delete("pods", "a", &json!({})).await.ok();
    assert_eq!(api.get("pods", "a").await.code, 404);
}

/// Some kinds return the object, others a status.
#[tokio::test]
async fn the_response_to_a_delete_depends_on_the_kind() {
    let api = Api::new().await;
    let node_name = format!("{}-node", api.namespace);
    for (resource, object, kind) in [
        ("services", service("a"), "Service"),
        ("endpoints", endpoints("a"), "Status"),
        ("endpointslices", slice("a"), "Status"),
        ("pods", pod("a"), "Pod"),
        ("nodes", node(&node_name), "Status"),
    ] {
        api.create(resource, &object).await.ok();
        let name = text(&object, "/metadata/name");
        let response = api.delete(resource, &name, &json!({})).await.ok();
        assert_eq!(text(&response, "/kind"), kind, "{resource}");
    }
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let api = Api::new().await;
    for (name, team) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let labelled = with(slice(name), "metadata.labels", json!({"team": team}));
        api.create("endpointslices", &labelled).await.ok();
    }
    let path = format!("{}?labelSelector=team%3Dx", api.collection("endpointslices"));
    let deleted = api.send(Method::DELETE, &path, &json!({})).await.ok();
    assert_eq!(
        (text(&deleted, "/kind"), names(&deleted)),
        ("EndpointSliceList".into(), vec!["a".into(), "c".into()])
    );
    assert_eq!(names(&api.list("endpointslices", "").await.ok()), ["b"]);
}

/// In a terminating namespace creates are rejected, with the cause (F22).
#[tokio::test]
async fn f22_a_terminating_namespace_rejects_creates() {
    let api = Api::new().await;
    // The object with a finalizer delays the deletion of the namespace.
    let held = with(slice("a"), "metadata.finalizers", json!(["example.com/hold"]));
    api.create("endpointslices", &held).await.ok();
    let going = api.delete("namespaces", &api.namespace, &json!({})).await.ok();
    assert_eq!(going["status"]["phase"], "Terminating");
    let response = api.create("endpointslices", &slice("b")).await;
    response.assert_rejected(
        "403 Forbidden discovery.k8s.io/endpointslices \"b\"",
        "endpointslices.discovery.k8s.io \"b\" is forbidden: ",
    );
    assert_eq!(response.causes(), ["NamespaceTerminating metadata.namespace"]);
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = api.patch("merge", "endpointslices", "a", &patch).await;
    assert_eq!(patched.code, 200, "what is there can still be written");
    assert_eq!(api.delete("endpointslices", "a", &json!({})).await.code, 200);
}

/// A recreated object has another uid and generation 1 (F23).
#[tokio::test]
async fn f23_a_recreated_object_has_another_uid() {
    let api = Api::new().await;
    let first = api.create("services", &service("a")).await.ok();
    api.delete("services", "a", &json!({})).await.ok();
    let second = api.create("services", &service("a")).await.ok();
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    let stale = with(first, "metadata.labels", json!({"a": "b"}));
    let response = api.update("services", &stale).await;
    assert_eq!(response.error_summary(), "409 Conflict /services \"a\"");
}
