//! Every verb of slices.

use http::Method;
use serde_json::json;

use super::fixtures::slice;
use super::{Api, names, text, version, with};

/// Slices are discovered, created, read, listed, watched, updated and deleted, without a controller (T-E2E-03).
#[tokio::test]
async fn t_e2e_03_every_verb() {
    let api = Api::new().await;
    let resources = api.read("/apis/discovery.k8s.io/v1").await.ok();
    assert_eq!(text(&resources, "/resources/0/name"), "endpointslices");

    let labelled = |name: &str| with(slice(name), "metadata.labels", json!({"special": "yes"}));
    for name in ["a", "b", "c"] {
        api.create("endpointslices", &labelled(name)).await.ok();
    }
    let found = api.get("endpointslices", "a").await.ok();
    let list = api.list("endpointslices", "labelSelector=special%3Dyes").await.ok();
    assert_eq!(names(&list), ["a", "b", "c"]);
    let everywhere = "/apis/discovery.k8s.io/v1/endpointslices?labelSelector=special%3Dyes";
    let in_cluster = names(&api.read(everywhere).await.ok());
    assert!(in_cluster.len() >= 3, "{in_cluster:?}");
    let from = format!("resourceVersion={}", version(&list));
    let mut watch = api.watch("endpointslices", &from).await;

    let patch = json!({"metadata": {"annotations": {"patched": "true"}}});
    let patched = api.patch("merge", "endpointslices", "a", &patch).await.ok();
    assert_eq!(patched["metadata"]["annotations"], json!({"patched": "true"}));
    assert_ne!(version(&patched), version(&found));
    let updated = with(patched, "metadata.annotations", json!({"updated": "true"}));
    let updated = api.update("endpointslices", &updated).await.ok();
    assert_eq!(updated["metadata"]["annotations"], json!({"updated": "true"}));
    watch.expect(&["MODIFIED a", "MODIFIED a"]).await;

    api.delete("endpointslices", "a", &json!({})).await.ok();
    watch.expect(&["DELETED a"]).await;
    assert_eq!(names(&api.list("endpointslices", "").await.ok()), ["b", "c"]);
    let all = format!("{}?labelSelector=special%3Dyes", api.collection("endpointslices"));
    api.send(Method::DELETE, &all, &json!({})).await.ok();
    assert_eq!(names(&api.list("endpointslices", "").await.ok()), Vec::<String>::new());
}
