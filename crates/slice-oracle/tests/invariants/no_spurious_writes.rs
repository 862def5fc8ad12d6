//! No spurious writes (I6).

use serde_json::json;
use slice_oracle::Window;

use crate::fixtures::{endpoint_of, placeholder, pod, pod_a, pod_b, service, slice, unready, with};
use crate::harness::Harness;
use crate::services::valid;

#[test]
fn i6_write_changes_only_the_order() {
    let mut harness = valid();
    harness.put(with(service(), "/metadata/annotations", json!({"annotated": "1"})));
    harness.put(slice("web-1", &[endpoint_of(&pod_b()), endpoint_of(&pod_a())]));
    harness.assert_violations(&[(
        "I6 EndpointSlice ns/web-1 at 111",
        "the same content, except for order and trigger time",
    )]);
}

#[test]
fn i6_write_changes_only_the_trigger_time() {
    let mut harness = valid();
    harness.put(with(service(), "/metadata/annotations", json!({"annotated": "1"})));
    let time = json!({"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z"});
    let slice = slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    harness.put(with(slice, "/metadata/annotations", time));
    harness.assert_violations(&[("I6", "the same content, except for order and trigger time")]);
}

/// A hot loop is a violation (F24).
#[test]
fn i6_more_writes_than_input_changes() {
    let mut harness = valid();
    let slice = slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    // The content of the change does not matter.
    harness.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "1"})));
    harness.assert_violations(&[("I6", "at most one write per change of the inputs of ns/web")]);
    // A change causes one write, which may be late.
    let mut harness = valid();
    harness.put(unready(pod_a())).put(pod_a());
    harness.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "1"})));
    harness.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "2"})));
    harness.assert_no_violations();
    harness.put(with(slice, "/metadata/annotations", json!({"loop": "3"})));
    harness.assert_violations(&[("I6", "a write without a change since")]);
}

#[test]
fn irrelevant_changes_cause_no_write() {
    let slice = slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    let written = with(slice, "/metadata/annotations", json!({"loop": "1"}));
    let other = with(pod("x", "node-a", 9), "/metadata/labels/app", json!("other"));
    for irrelevant in [
        with(pod_a(), "/metadata/annotations", json!({"x": "y"})),
        with(service(), "/status", json!({"loadBalancer": {}})),
        with(
            crate::fixtures::node("node-a", "zone-a"),
            "/metadata/annotations",
            json!({"x": "y"}),
        ),
        other,
    ] {
        let mut harness = valid();
        harness.put(irrelevant).put(written.clone());
        harness.assert_violations(&[("I6", "a write without a change since")]);
    }
}

#[test]
fn i6_writes_in_a_window_without_writes() {
    let mut harness = valid();
    harness.mark(Window::NoWrites).assert_no_violations();
    harness.put(with(service(), "/metadata/annotations", json!({"annotated": "1"})));
    harness.put(with(
        slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]),
        "/metadata/annotations",
        json!({"x": "y"}),
    ));
    let mut ended = harness.clone();
    harness.assert_violations(&[(
        "I6 mark \"here\" at 110",
        "no writes until the next mark; found EndpointSlice ns/web-1",
    )]);
    // A manual write is not a write of the controller.
    ended.record_manual_write(&placeholder("web-1")).assert_no_violations();
    // Writes after the next mark are allowed.
    let mut after = valid();
    after
        .mark(Window::NoWrites)
        .mark(Window::Any)
        .put(pod("c", "node-a", 3));
    after
        .put(slice(
            "web-1",
            &[
                endpoint_of(&pod_a()),
                endpoint_of(&pod_b()),
                endpoint_of(&pod("c", "node-a", 3)),
            ],
        ))
        .assert_no_violations();
}

/// Deletions by the garbage collector, after the owner or with the namespace, are no writes of a controller.
#[test]
fn garbage_collection_is_no_write() {
    let slice = || slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    let mut harness = valid();
    harness
        .mark(Window::NoWrites)
        .delete(&service())
        .delete(&slice())
        .assert_no_violations();
    let ending = json!({"name": "ns", "uid": "ns", "deletionTimestamp": "2026-01-02T03:04:05Z"});
    let mut harness = valid();
    harness.mark(Window::NoWrites);
    harness
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": ending}))
        .delete(&slice())
        .assert_no_violations();
    let mut harness = valid();
    harness
        .mark(Window::NoWrites)
        .put(with(service(), "/spec/selector", json!({"app": "x"})))
        .delete(&slice());
    harness.put(placeholder("web-2"));
    harness.assert_violations(&[("I6 mark", "found EndpointSlice ns/web-1, EndpointSlice ns/web-2")]);
}

/// Changes before a mark cause no writes after it.
#[test]
fn i6_changes_before_a_mark_cause_no_later_writes() {
    let mut harness = valid();
    harness.put(unready(pod_a())).put(pod_a()).mark(Window::Any);
    harness.put(with(
        slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]),
        "/metadata/annotations",
        json!({"x": "y"}),
    ));
    harness.assert_violations(&[("I6", "a write without a change since 112")]);
}

/// Writes per window ≤ slices touched + ⌈adds / max⌉.
#[test]
fn i6_more_writes_than_the_added_endpoints_need() {
    let (a, b, c) = (pod_a(), pod_b(), pod("c", "node-a", 3));
    let more: Vec<_> = (4..8).map(|n| pod(&format!("p{n}"), "node-b", n)).collect();
    let more_endpoints: Vec<_> = more.iter().map(endpoint_of).collect();
    let mut harness = valid();
    harness.mark(Window::OneWritePerSlice);
    for pod in [&c].into_iter().chain(&more) {
        harness.put(pod.clone());
    }
    let base = harness.clone();
    // One slice is filled and two are created: five endpoints are added, which need two new slices.
    harness.put(slice("web-1", &[endpoint_of(&a), endpoint_of(&b), endpoint_of(&c)]));
    harness
        .put(slice("web-2", &more_endpoints[..3]))
        .put(slice("web-3", &more_endpoints[3..]))
        .assert_no_violations();
    let mut wasteful = base;
    wasteful.put(slice("web-1", &[endpoint_of(&a), endpoint_of(&b), endpoint_of(&c)]));
    for (n, one) in more_endpoints.iter().enumerate() {
        wasteful.put(slice(&format!("web-x{n}"), std::slice::from_ref(one)));
    }
    wasteful.assert_violations(&[(
        "I6 Service ns/web",
        "1 slices written once and 2 new ones since \"here\"; found 5 writes",
    )]);
}

#[test]
fn i6_slice_written_more_than_once() {
    let c = pod("c", "node-a", 3);
    let mut harness = valid();
    harness.mark(Window::OneWritePerSlice).put(c.clone()).put(slice(
        "web-1",
        &[endpoint_of(&pod_a()), endpoint_of(&pod_b()), endpoint_of(&c)],
    ));
    harness.assert_no_violations();
    harness.put(unready(c.clone()));
    let unready = crate::fixtures::unready_endpoint_of(&c);
    harness.put(slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b()), unready]));
    // One added endpoint allows one more write; a third one is a violation.
    harness.assert_no_violations();
    harness.put(c.clone()).put(slice(
        "web-1",
        &[endpoint_of(&pod_a()), endpoint_of(&pod_b()), endpoint_of(&c)],
    ));
    harness.assert_violations(&[(
        "I6",
        "1 slices written once and 1 new ones since \"here\"; found 3 writes",
    )]);
}

/// A new Service needs a placeholder for each address type.
#[test]
fn a_placeholder_write_is_allowed_for_a_new_service() {
    let mut harness = Harness::new();
    harness
        .mark(Window::OneWritePerSlice)
        .put(service())
        .put(placeholder("web-1"))
        .assert_no_violations();
}
