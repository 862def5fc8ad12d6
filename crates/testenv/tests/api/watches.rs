//! Watches: start, events and end (F8, F11, I11).

use serde_json::{Value, json};

use super::fixtures::{event, node, pod, service, slice};
use super::{Api, COMPACTION_LOCK, text, version, with};

fn labelled(name: &str, team: &str) -> Value {
    with(slice(name), "metadata.labels", json!({"team": team}))
}

#[tokio::test]
async fn from_a_version_everything_later_in_order() {
    let api = Api::new().await;
    let first = api.create("endpointslices", &slice("a")).await.ok();
    let second = api.create("endpointslices", &slice("b")).await.ok();
    let changed = with(first.clone(), "metadata.annotations", json!({"a": "b"}));
    let changed = api.update("endpointslices", &changed).await.ok();
    api.delete("endpointslices", "b", &json!({})).await.ok();
    let mut watch = api
        .watch("endpointslices", &format!("resourceVersion={}", version(&first)))
        .await;
    assert_eq!(watch.event().await, ("ADDED b".into(), second.clone()));
    assert_eq!(watch.event().await, ("MODIFIED a".into(), changed.clone()));
    let (line, gone) = watch.event().await;
    assert_eq!(
        (line.as_str(), &gone["metadata"]["uid"]),
        ("DELETED b", &second["metadata"]["uid"])
    );
    let third = api.create("endpointslices", &slice("c")).await.ok();
    assert_eq!(watch.event().await, ("ADDED c".into(), third));
    // The deleted object has the version of its deletion, so that it can be ordered after older events.
    assert!(version(&gone).parse::<u64>().unwrap() > version(&changed).parse::<u64>().unwrap());
}

/// A watch resumed at the last version gets every later event exactly once (F8).
#[tokio::test]
async fn f8_a_watch_can_be_resumed() {
    let api = Api::new().await;
    let before = api.list("endpointslices", "").await.ok();
    api.create("endpointslices", &slice("a")).await.ok();
    api.create("endpointslices", &slice("b")).await.ok();
    api.delete("endpointslices", "a", &json!({})).await.ok();
    let mut lines = Vec::new();
    let mut last = version(&before);
    for _ in 0..3 {
        let mut watch = api.watch("endpointslices", &format!("resourceVersion={last}")).await;
        let (line, object) = watch.event().await;
        lines.push(line);
        last = version(&object);
    }
    assert_eq!(lines, ["ADDED a", "ADDED b", "DELETED a"]);
}

#[tokio::test]
async fn a_watch_without_version_starts_with_existing_objects() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("b")).await.ok();
    api.create("endpointslices", &slice("a")).await.ok();
    for query in ["", "resourceVersion=0"] {
        let mut watch = api.watch("endpointslices", query).await;
        let mut first = vec![watch.event().await.0, watch.event().await.0];
        first.sort();
        assert_eq!(first, ["ADDED a", "ADDED b"], "{query:?}");
        let name = format!("c{}", query.len());
        api.create("endpointslices", &slice(&name)).await.ok();
        watch.expect(&[&format!("ADDED {name}")]).await;
        api.delete("endpointslices", &name, &json!({})).await.ok();
    }
}

/// A watch with a selector adds and deletes objects as their labels change.
#[tokio::test]
async fn objects_enter_and_leave_a_selection() {
    let api = Api::new().await;
    let query = format!(
        "labelSelector=team%3Dx&resourceVersion={}",
        version(&api.list("endpointslices", "").await.ok())
    );
    let mut watch = api.watch("endpointslices", &query).await;
    api.create("endpointslices", &labelled("a", "y")).await.ok();
    api.update("endpointslices", &labelled("a", "x")).await.ok();
    let inside = with(labelled("a", "x"), "ports.0.port", json!(81));
    api.update("endpointslices", &inside).await.ok();
    let left = api.update("endpointslices", &labelled("a", "y")).await.ok();
    api.update("endpointslices", &labelled("a", "z")).await.ok();
    api.update("endpointslices", &labelled("a", "x")).await.ok();
    api.delete("endpointslices", "a", &json!({})).await.ok();
    watch.expect(&["ADDED a", "MODIFIED a"]).await;
    let (line, gone) = watch.event().await;
    assert_eq!(line, "DELETED a");
    // The event has the last matching object, with the version of the change.
    assert_eq!(
        (&gone["metadata"]["labels"]["team"], &gone["ports"][0]["port"]),
        (&json!("x"), &json!(81))
    );
    assert_eq!(version(&gone), version(&left));
    watch.expect(&["ADDED a", "DELETED a"]).await;
}

#[tokio::test]
async fn field_selectors_in_watches() {
    let api = Api::new().await;
    let start = version(&api.list("pods", "").await.ok());
    let mut one = api
        .watch(
            "pods",
            &format!("fieldSelector=metadata.name%3Db&resourceVersion={start}"),
        )
        .await;
    let mut bound = api
        .watch(
            "pods",
            &format!("fieldSelector=spec.nodeName%3Dn&resourceVersion={start}"),
        )
        .await;
    api.create("pods", &pod("a")).await.ok();
    api.create("pods", &with(pod("c"), "spec.nodeName", json!("n")))
        .await
        .ok();
    api.create("pods", &pod("b")).await.ok();
    one.expect(&["ADDED b"]).await;
    bound.expect(&["ADDED c"]).await;
}

/// With a finalizer, a deletion is an update and, later, a delete (R153).
#[tokio::test]
async fn a_deletion_with_finalizer_is_two_events() {
    let api = Api::new().await;
    let held = with(slice("a"), "metadata.finalizers", json!(["example.com/hold"]));
    let created = api.create("endpointslices", &held).await.ok();
    let mut watch = api
        .watch("endpointslices", &format!("resourceVersion={}", version(&created)))
        .await;
    let marked = api.delete("endpointslices", "a", &json!({})).await.ok();
    assert_eq!(watch.event().await, ("MODIFIED a".into(), marked.clone()));
    api.update("endpointslices", &with(marked, "metadata.finalizers", json!([])))
        .await
        .ok();
    watch.expect(&["DELETED a"]).await;
}

#[tokio::test]
async fn of_all_namespaces_and_cluster_wide() {
    let api = Api::new().await;
    let label = json!({"suite": api.namespace});
    let query = format!("labelSelector=suite%3D{}", api.namespace);
    let mut nodes = api.watch("nodes", &query).await;
    let name = format!("{}-node", api.namespace);
    api.create("nodes", &with(node(&name), "metadata.labels", label))
        .await
        .ok();
    nodes.expect(&[&format!("ADDED {name}")]).await;
    let patch = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "zone-a"}}});
    api.patch("merge", "nodes", &name, &patch).await.ok();
    nodes.expect(&[&format!("MODIFIED {name}")]).await;
}

/// The server ends a watch after timeoutSeconds, without an event.
#[tokio::test]
async fn a_watch_ends_after_its_timeout() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let mut watch = api.watch("endpointslices", "timeoutSeconds=1").await;
    watch.expect(&["ADDED a"]).await;
    assert_eq!(watch.next().await, None);
}

/// A watch with allowWatchBookmarks ends with a bookmark.
#[tokio::test]
async fn a_bookmark_at_the_end() {
    let api = Api::new().await;
    let created = api.create("endpointslices", &slice("a")).await.ok();
    let mut watch = api
        .watch("endpointslices", "timeoutSeconds=3&allowWatchBookmarks=true")
        .await;
    watch.expect(&["ADDED a"]).await;
    let (line, bookmark) = watch.event().await;
    assert_eq!(line, "BOOKMARK");
    assert_eq!(
        (&bookmark["kind"], &bookmark["apiVersion"]),
        (&json!("EndpointSlice"), &json!("discovery.k8s.io/v1"))
    );
    assert!(version(&bookmark).parse::<u64>().unwrap() >= version(&created).parse::<u64>().unwrap());
}

/// A streaming list: existing objects, a bookmark that ends the initial list, then events.
#[tokio::test]
async fn watch_list() {
    let api = Api::new().await;
    api.create("endpointslices", &labelled("a", "x")).await.ok();
    api.create("endpointslices", &labelled("b", "y")).await.ok();
    let last = api.create("endpointslices", &labelled("c", "x")).await.ok();
    let query =
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=team%3Dx";
    for start in [
        "",
        "&resourceVersion=0",
        &format!("&resourceVersion={}", version(&last)),
    ] {
        let mut watch = api.watch("endpointslices", &format!("{query}{start}")).await;
        watch.expect(&["ADDED a", "ADDED c"]).await;
        let (line, bookmark) = watch.event().await;
        assert_eq!(line, "BOOKMARK", "{start:?}");
        assert_eq!(
            bookmark["metadata"]["annotations"],
            json!({"k8s.io/initial-events-end": "true"})
        );
        assert!(version(&bookmark).parse::<u64>().unwrap() >= version(&last).parse::<u64>().unwrap());
    }
}

#[tokio::test]
async fn watch_list_without_objects() {
    let api = Api::new().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = api.watch("services", query).await;
    let (line, bookmark) = watch.event().await;
    assert_eq!(
        (line.as_str(), text(&bookmark, "/kind")),
        ("BOOKMARK", "Service".into())
    );
    api.create("services", &service("a")).await.ok();
    watch.expect(&["ADDED a"]).await;
}

#[tokio::test]
async fn watch_list_without_required_options_is_rejected() {
    let api = Api::new().await;
    for query in [
        "sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
        "resourceVersionMatch=NotOlderThan",
    ] {
        let response = api.list("endpointslices", &format!("watch=true&{query}")).await;
        assert_eq!(
            response.error_summary(),
            "422 Invalid meta.k8s.io/ListOptions \"\"",
            "{query}"
        );
    }
}

/// A compacted version ends the watch with 410 Gone (F11, R154).
#[tokio::test]
async fn f11_a_compacted_version_is_gone() {
    let _alone = COMPACTION_LOCK.lock().await;
    let api = Api::new().await;
    let first = api.create("events", &event("a", &api.namespace)).await.ok();
    api.create("events", &event("b", &api.namespace)).await.ok();
    api.create("events", &event("c", &api.namespace)).await.ok();
    api.compact().await;
    let mut watch = api
        .watch("events", &format!("resourceVersion={}", version(&first)))
        .await;
    let (line, status) = watch.event().await;
    assert_eq!(line, "ERROR");
    assert_eq!(
        (&status["kind"], &status["code"], &status["reason"], &status["status"]),
        (&json!("Status"), &json!(410), &json!("Expired"), &json!("Failure"))
    );
    assert_eq!(watch.next().await, None);
}

/// `fieldSelector=metadata.name=…` and a name in the address are two ways to watch one object.
#[tokio::test]
async fn of_one_object() {
    let api = Api::new().await;
    api.create("services", &service("a")).await.ok();
    api.create("services", &service("b")).await.ok();
    let mut watch = api.watch("services", "fieldSelector=metadata.name%3Da").await;
    watch.expect(&["ADDED a"]).await;
    api.delete("services", "b", &json!({})).await.ok();
    api.delete("services", "a", &json!({})).await.ok();
    watch.expect(&["DELETED a"]).await;
}
