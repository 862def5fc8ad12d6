//! What a watcher makes of what it sees.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use slice_oracle::{Event, Object, Verb};

use super::View;

/// What is seen of an object, so many milliseconds after the beginning.
fn seen(view: &mut View, milliseconds: i64, verb: Verb, mut object: Value) {
    let at = Timestamp::from_millisecond(1_700_000_000_000 + milliseconds).unwrap();
    object["metadata"]["resourceVersion"] = json!(milliseconds.to_string());
    let object: Object = serde_json::from_value(object).unwrap();
    view.see(&Event::new(at, verb, object).unwrap());
}

fn pod(name: &str, ready: bool, leaving: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "uid": name, "labels": {"app": "web", "version": "v1"}},
        "status": {
            "podIPs": [{"ip": "10.0.0.1"}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
        },
    });
    if leaving {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    }
    pod
}

/// A slice with an endpoint for each pod: ready, serving, terminating.
fn slice(endpoints: &[(&str, [bool; 3])]) -> Value {
    let endpoints: Vec<Value> = endpoints
        .iter()
        .map(|(pod, [ready, serving, terminating])| {
            json!({
                "addresses": ["10.0.0.1"],
                "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
                "targetRef": {"kind": "Pod", "name": pod, "uid": pod},
                "hints": if *ready { json!({"forZones": [{"name": "zone-a"}]}) } else { Value::Null },
            })
        })
        .collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "web-x", "uid": "s", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "endpoints": endpoints,
    })
}

const READY: [bool; 3] = [true, true, false];
const TERMINATING: [bool; 3] = [false, true, true];
const NOT_READY: [bool; 3] = [false, false, false];

#[test]
fn each_write_of_a_slice_is_a_line_with_its_conditions_and_hints() {
    let mut view = View::default();
    seen(&mut view, 1, Verb::Added, slice(&[]));
    let three = [("a", READY), ("b", TERMINATING), ("c", NOT_READY)];
    seen(&mut view, 251, Verb::Modified, slice(&three));
    seen(&mut view, 1001, Verb::Deleted, slice(&three));
    assert_eq!(
        view.log,
        [
            "   0.000 s  created  web-x        IPv4  no endpoints",
            "   0.250 s  updated  web-x        IPv4  1 ready, 1 serving+terminating, 1 not ready; hints zone-a 1",
            "   1.000 s  deleted  web-x        IPv4  gone",
        ]
    );
    assert_eq!(view.writes.to_string(), "writes: 3 (1 created, 1 updated, 1 deleted)");
    assert!(view.slices.is_empty());
}

#[test]
fn what_was_there_before_is_no_write() {
    let mut view = View::default();
    seen(&mut view, 1, Verb::Listed, slice(&[("a", READY)]));
    assert_eq!((view.writes.count(), view.log.len(), view.slices.len()), (0, 0, 1));
    assert_eq!(
        view.at_rest(),
        "at rest: web 1 endpoints in 1 slice; writes: 0 (0 created, 0 updated, 0 deleted)"
    );
}

#[test]
fn latency_is_from_a_change_of_a_pod_until_a_slice_shows_it() {
    let mut view = View::default();
    let steps = [
        // Two changes before a write: the first one counts.
        (10, Verb::Added, pod("a", false, false)),
        (20, Verb::Modified, pod("a", true, false)),
        (25, Verb::Added, slice(&[("a", NOT_READY)])),
        (40, Verb::Modified, slice(&[("a", READY)])),
        // Seen in a slice before it is seen as a pod: no time at all.
        (50, Verb::Modified, slice(&[("a", TERMINATING)])),
        (60, Verb::Modified, pod("a", true, true)),
        (70, Verb::Deleted, pod("a", true, true)),
        (75, Verb::Modified, slice(&[])),
        // A write of something else says nothing about a pod that waits.
        (80, Verb::Added, pod("b", true, false)),
        (90, Verb::Modified, slice(&[("c", READY)])),
    ];
    for (at, verb, object) in steps {
        seen(&mut view, at, verb, object);
    }
    let took = |percent| view.latency.quantile(percent);
    assert_eq!(view.latency.count(), 2);
    assert_eq!(
        (took(0), took(100)),
        (Some(Duration::from_millis(5)), Some(Duration::from_millis(30)))
    );
}

#[test]
fn a_pod_may_go_once_nobody_is_told_to_use_it() {
    let mut view = View::default();
    seen(&mut view, 1, Verb::Added, pod("a", true, false));
    assert!(!view.may_go("a"), "nobody asked it to");
    seen(&mut view, 2, Verb::Added, slice(&[("a", READY)]));
    seen(&mut view, 3, Verb::Modified, pod("a", true, true));
    assert!(!view.may_go("a"), "it is still published as ready");
    seen(&mut view, 4, Verb::Modified, slice(&[("a", TERMINATING)]));
    assert!(view.may_go("a"));
    seen(&mut view, 5, Verb::Modified, slice(&[]));
    assert!(view.may_go("a"));
}
