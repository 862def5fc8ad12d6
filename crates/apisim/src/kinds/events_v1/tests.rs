use serde_json::{Value, json};

use super::*;
use crate::kinds::fixtures::{object, summary};

fn body() -> Value {
    json!({
        "metadata": { "name": "e", "namespace": "ns" },
        "eventTime": "2024-01-01T00:00:00.123456Z",
        "reportingController": "example.com/controller",
        "reportingInstance": "host-1",
        "action": "Sync",
        "reason": "Synced",
        "type": "Normal",
        "regarding": { "kind": "Pod", "namespace": "ns", "name": "p" },
        "note": "synced",
        "series": { "count": 2, "lastObservedTime": "2024-01-01T00:00:01.000000Z" },
        "deprecatedCount": 3,
        "deprecatedSource": { "component": "c" },
        "deprecatedFirstTimestamp": "2024-01-01T00:00:00Z",
        "deprecatedLastTimestamp": "2024-01-01T00:00:02Z",
    })
}

fn event(patch: &Value) -> Event {
    let mut json = body();
    json_patch::merge(&mut json, patch);
    let mut event = from_events_v1(object(json));
    crate::kinds::Kind::set_defaults(&mut event);
    event
}

fn without_deprecated() -> Event {
    event(&json!({
        "deprecatedCount": null,
        "deprecatedSource": null,
        "deprecatedFirstTimestamp": null,
        "deprecatedLastTimestamp": null,
    }))
}

#[test]
fn conversion_preserves_all_fields() {
    let stored = serde_json::to_value(event(&json!({}))).unwrap();
    let renamed = [
        ("involvedObject", "regarding"),
        ("message", "note"),
        ("reportingComponent", "reportingController"),
        ("count", "deprecatedCount"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
    ];
    for (core, events) in renamed {
        assert_eq!(stored[core], body()[events], "{core}");
    }
    let back = to_events_v1(event(&json!({})));
    assert_eq!(back, object(body()));
}

#[test]
fn events_v1_rejects_deprecated_fields() {
    assert_eq!(validate(&without_deprecated()), []);
    let expected = ["firstTimestamp", "lastTimestamp", "count", "source"];
    let found = summary(&validate(&event(&json!({}))));
    assert_eq!(found, expected.map(|field| format!("{field} FieldValueInvalid")));
}

#[test]
fn only_the_series_can_change() {
    let old = without_deprecated();
    let mut new = old.clone();
    new.series.as_mut().unwrap().count = Some(5);
    assert_eq!(validate_update(&new, &old), []);
    new.message = Some("other".to_owned());
    new.series.as_mut().unwrap().count = Some(1);
    let expected = ["series.count FieldValueInvalid", "message FieldValueInvalid"];
    assert_eq!(summary(&validate_update(&new, &old)), expected);
}

#[test]
fn event_must_be_in_the_namespace_of_its_object() {
    use crate::kinds::Kind;
    let involved = |namespace: Option<&str>| {
        let event: Event = object(json!({
            "metadata": { "name": "e", "namespace": "ns" },
            "involvedObject": { "namespace": namespace },
        }));
        summary(&event.validate())
    };
    let rejected = ["involvedObject.namespace FieldValueInvalid"];
    assert_eq!(involved(Some("ns")), [""; 0]);
    assert_eq!(involved(Some("other")), rejected);
    assert_eq!(involved(None), rejected);
}
