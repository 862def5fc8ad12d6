//! Leases of leader election, and the two API groups of events.

use serde_json::{Value, json};

use super::fixtures::{event, lease};
use super::{Api, COMPACTION_LOCK, version, with};

/// Of two candidates that read the same lease, one wins: the late write of a frozen leader is rejected (F18).
#[tokio::test]
async fn f18_only_one_candidate_acquires_a_lease() {
    let api = Api::new().await;
    let free = api.create("leases", &lease("a", "")).await.ok();
    let taken = |who: &str| with(free.clone(), "spec.holderIdentity", json!(who));
    let first = api.update("leases", &taken("first")).await.ok();
    let second = api.update("leases", &taken("second")).await;
    assert_eq!(second.error_summary(), "409 Conflict coordination.k8s.io/leases \"a\"");
    assert_eq!(api.get("leases", "a").await.ok(), first);
    let both = api.create("leases", &lease("a", "third")).await;
    assert_eq!(
        both.error_summary(),
        "409 AlreadyExists coordination.k8s.io/leases \"a\""
    );
}

/// Times of a lease have exactly six fractional digits.
#[tokio::test]
async fn times_of_a_lease() {
    let api = Api::new().await;
    let spec = json!({
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 3,
        "acquireTime": "2024-01-02T03:04:05.000000Z",
        "renewTime": "2024-01-02T03:04:06.123456Z",
    });
    let created = api
        .create("leases", &with(lease("a", ""), "spec", spec.clone()))
        .await
        .ok();
    assert_eq!(created["spec"], spec);
    for short in ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.1Z", "2024-01-02"] {
        let response = api
            .update("leases", &with(created.clone(), "spec.renewTime", json!(short)))
            .await;
        response.assert_rejected(
            "400 BadRequest",
            "Lease in version \"v1\" cannot be handled as a Lease: ",
        );
    }
}

#[tokio::test]
async fn bad_leases() {
    let api = Api::new().await;
    for (field, value, cause) in [
        (
            "leaseDurationSeconds",
            json!(0),
            "FieldValueInvalid spec.leaseDurationSeconds",
        ),
        (
            "leaseDurationSeconds",
            json!(-1),
            "FieldValueInvalid spec.leaseDurationSeconds",
        ),
        ("leaseTransitions", json!(-1), "FieldValueInvalid spec.leaseTransitions"),
    ] {
        let bad = with(lease("a", "me"), &format!("spec.{field}"), value);
        let response = api.create("leases", &bad).await;
        assert_eq!(response.error_summary(), "422 Invalid coordination.k8s.io/Lease \"a\"");
        assert_eq!(response.causes(), [cause]);
    }
    let empty = with(lease("b", ""), "spec", json!({}));
    assert_eq!(api.create("leases", &empty).await.code, 201);
    let response = api
        .update("leases", &with(lease("b", "me"), "metadata.resourceVersion", json!("")))
        .await;
    assert_eq!(
        response.error_summary(),
        "422 Invalid coordination.k8s.io/leases \"b\"",
        "a lease is never replaced without its version"
    );
    assert_eq!(response.causes(), ["FieldValueInvalid metadata.resourceVersion"]);
}

/// A core event, read through events.k8s.io.
#[tokio::test]
async fn a_core_event_has_a_second_view() {
    let api = Api::new().await;
    let core = with(
        event("a", &api.namespace),
        "firstTimestamp",
        json!("2024-01-02T03:04:05Z"),
    );
    let core = with(core, "lastTimestamp", json!("2024-01-02T03:04:06Z"));
    let core = api.create("events", &with(core, "count", json!(2))).await.ok();
    assert_eq!((&core["eventTime"], &core["count"]), (&json!(null), &json!(2)));
    let view = api.get("events.k8s.io", "a").await.ok();
    assert_eq!(
        (&view["apiVersion"], &view["kind"]),
        (&json!("events.k8s.io/v1"), &json!("Event"))
    );
    for (new, old) in [
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("reason", "reason"),
        ("type", "type"),
        ("deprecatedSource", "source"),
        ("deprecatedCount", "count"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("metadata", "metadata"),
    ] {
        assert_eq!(strip(&view[new]), strip(&core[old]), "{new}");
    }
}

/// An event of events.k8s.io, read as a core event.
#[tokio::test]
async fn an_event_of_the_newer_group_is_a_core_event() {
    let api = Api::new().await;
    let new = new_event("a", &api.namespace);
    let created = api.create("events.k8s.io", &new).await.ok();
    let core = api.get("events", "a").await.ok();
    for (old, newer) in [
        ("involvedObject", "regarding"),
        ("message", "note"),
        ("action", "action"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
        ("related", "related"),
    ] {
        assert_eq!(core[old], created[newer], "{old}");
    }
    assert_eq!(version(&core), version(&created));
    assert_eq!(core["metadata"]["uid"], created["metadata"]["uid"]);
}

/// A recorder counts repetitions by patching the series.
#[tokio::test]
async fn a_series_is_patched() {
    let api = Api::new().await;
    api.create("events.k8s.io", &new_event("a", &api.namespace)).await.ok();
    let series = json!({"series": {"count": 2, "lastObservedTime": "2024-01-02T03:04:07.000000Z"}});
    let patched = api.patch("merge", "events.k8s.io", "a", &series).await.ok();
    assert_eq!(patched["series"], series["series"]);
}

#[tokio::test]
async fn bad_events() {
    let api = Api::new().await;
    let elsewhere = event("a", "elsewhere");
    let response = api.create("events", &elsewhere).await;
    assert_eq!(response.error_summary(), "422 Invalid /Event \"a\"");
    assert_eq!(response.causes(), ["FieldValueInvalid involvedObject.namespace"]);
    for (field, cause) in [
        ("eventTime", "FieldValueRequired eventTime"),
        ("reportingInstance", "FieldValueRequired reportingInstance"),
        ("action", "FieldValueRequired action"),
        ("reason", "FieldValueRequired reason"),
        ("type", "FieldValueInvalid type"),
    ] {
        let bare = with(new_event("a", &api.namespace), field, json!(null));
        let response = api.create("events.k8s.io", &bare).await;
        assert_eq!((response.code, response.causes()), (422, vec![cause.into()]));
    }
}

/// Both groups list and watch the same objects.
#[tokio::test]
async fn both_groups_see_the_same_events() {
    let _alone = COMPACTION_LOCK.lock().await;
    let api = Api::new().await;
    let mut core = api.watch("events", "").await;
    let mut new = api.watch("events.k8s.io", "").await;
    api.create("events", &event("a", &api.namespace)).await.ok();
    api.create("events.k8s.io", &new_event("b", &api.namespace)).await.ok();
    core.expect(&["ADDED a", "ADDED b"]).await;
    new.expect(&["ADDED a", "ADDED b"]).await;
}

#[tokio::test]
async fn events_about_an_object() {
    let api = Api::new().await;
    api.create("events", &event("a", &api.namespace)).await.ok();
    let other = with(event("b", &api.namespace), "involvedObject.name", json!("other"));
    api.create("events", &other).await.ok();
    let list = api
        .list("events", "fieldSelector=involvedObject.name%3Dweb%2Creason%3DTested")
        .await
        .ok();
    assert_eq!(super::names(&list), ["a"]);
}

/// Without fields that only one of the groups has.
fn strip(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(object) = value.as_object_mut() {
        object.remove("managedFields");
    }
    value
}

fn new_event(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name},
        "eventTime": "2024-01-02T03:04:05.000000Z",
        "reportingController": "example.com/suite",
        "reportingInstance": "suite-1",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "note": "something happened",
        "regarding": {"apiVersion": "v1", "kind": "Service", "namespace": namespace, "name": "web"},
        "related": {"kind": "Node", "name": "node-1"},
    })
}
