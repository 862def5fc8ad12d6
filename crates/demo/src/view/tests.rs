//! Tests of the view: watch events in, log lines, counters and latencies out.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use slice_oracle::{Event, Object, Verb};

use super::View;

/// Applies a watch event at this time.
fn apply(view: &mut View, milliseconds: i64, verb: Verb, mut object: Value) {
    let at = Timestamp::from_millisecond(1_700_000_000_000 + milliseconds).unwrap();
    object["metadata"]["resourceVersion"] = json!(milliseconds.to_string());
    let object: Object = serde_json::from_value(object).unwrap();
    view.apply(&Event::new(at, verb, object).unwrap());
}

fn pod(name: &str, ready: bool, terminating: bool) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "uid": name, "labels": {"app": "web", "version": "v1"}},
        "status": {
            "podIPs": [{"ip": "10.0.0.1"}],
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
        },
    });
    if terminating {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    }
    pod
}

/// A slice with an endpoint for each pod; conditions: ready, serving, terminating.
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
fn each_slice_write_is_logged_with_conditions_and_hints() {
    let mut view = View::default();
    apply(&mut view, 1, Verb::Added, slice(&[]));
    let three = [("a", READY), ("b", TERMINATING), ("c", NOT_READY)];
    apply(&mut view, 251, Verb::Modified, slice(&three));
    apply(&mut view, 1001, Verb::Deleted, slice(&three));
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
fn listed_slices_do_not_count_as_writes() {
    let mut view = View::default();
    apply(&mut view, 1, Verb::Listed, slice(&[("a", READY)]));
    assert_eq!((view.writes.count(), view.log.len(), view.slices.len()), (0, 0, 1));
    assert_eq!(
        view.converged_line(),
        "converged: web 1 endpoints in 1 slice; writes: 0 (0 created, 0 updated, 0 deleted)"
    );
}

#[test]
fn latency_is_from_the_first_pod_change_to_the_slice_that_reflects_it() {
    let mut view = View::default();
    let steps = [
        // Two pod changes before the write: the first one counts.
        (10, Verb::Added, pod("a", false, false)),
        (20, Verb::Modified, pod("a", true, false)),
        (25, Verb::Added, slice(&[("a", NOT_READY)])),
        (40, Verb::Modified, slice(&[("a", READY)])),
        // The slice event arrives before the pod event: not measured.
        (50, Verb::Modified, slice(&[("a", TERMINATING)])),
        (60, Verb::Modified, pod("a", true, true)),
        (70, Verb::Deleted, pod("a", true, true)),
        (75, Verb::Modified, slice(&[])),
        // A write for another pod does not complete a pending change.
        (80, Verb::Added, pod("b", true, false)),
        (90, Verb::Modified, slice(&[("c", READY)])),
    ];
    for (at, verb, object) in steps {
        apply(&mut view, at, verb, object);
    }
    let percentile = |percent| view.latency.percentile(percent);
    assert_eq!(view.latency.count(), 2);
    assert_eq!(
        (percentile(0), percentile(100)),
        (Some(Duration::from_millis(5)), Some(Duration::from_millis(30)))
    );
}

#[test]
fn a_terminating_pod_may_be_deleted_once_no_slice_publishes_it_as_ready() {
    let mut view = View::default();
    apply(&mut view, 1, Verb::Added, pod("a", true, false));
    assert!(!view.may_be_deleted("a"), "it is not terminating");
    apply(&mut view, 2, Verb::Added, slice(&[("a", READY)]));
    apply(&mut view, 3, Verb::Modified, pod("a", true, true));
    assert!(!view.may_be_deleted("a"), "it is still published as ready");
    apply(&mut view, 4, Verb::Modified, slice(&[("a", TERMINATING)]));
    assert!(view.may_be_deleted("a"));
    apply(&mut view, 5, Verb::Modified, slice(&[]));
    assert!(view.may_be_deleted("a"));
}
