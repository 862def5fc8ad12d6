//! I6: nothing is written without need.

use serde_json::json;
use slice_oracle::Window;

use crate::fixtures::{placeholder, pod, pod_a, pod_b, service, shown, slice, unready, with};
use crate::harness::Harness;
use crate::services::good;

#[test]
fn i6_a_write_changes_only_the_order() {
    let mut harness = good();
    harness.put(with(service(), "/metadata/annotations", json!({"poked": "1"})));
    harness.put(slice("web-1", &[shown(&pod_b()), shown(&pod_a())]));
    harness.rejected(&[(
        "I6 EndpointSlice ns/web-1 at 111",
        "the same as before, but for order and trigger time",
    )]);
}

#[test]
fn i6_a_write_changes_only_the_trigger_time() {
    let mut harness = good();
    harness.put(with(service(), "/metadata/annotations", json!({"poked": "1"})));
    let time = json!({"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z"});
    let slice = slice("web-1", &[shown(&pod_a()), shown(&pod_b())]);
    harness.put(with(slice, "/metadata/annotations", time));
    harness.rejected(&[("I6", "the same as before, but for order and trigger time")]);
}

/// F24: no hot loop.
#[test]
fn i6_a_slice_is_written_more_often_than_anything_changes() {
    let mut harness = good();
    let slice = slice("web-1", &[shown(&pod_a()), shown(&pod_b())]);
    // What differs is not looked at.
    harness.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "1"})));
    harness.rejected(&[("I6", "no more writes than changes of what ns/web is made from")]);
    // A cause is good for one write, and a late one is allowed.
    let mut harness = good();
    harness.put(unready(pod_a())).put(pod_a());
    harness.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "1"})));
    harness.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "2"})));
    harness.accepted();
    harness.put(with(slice, "/metadata/annotations", json!({"loop": "3"})));
    harness.rejected(&[("I6", "although nothing has changed since")]);
}

#[test]
fn irrelevant_changes_are_no_cause() {
    let slice = slice("web-1", &[shown(&pod_a()), shown(&pod_b())]);
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
        let mut harness = good();
        harness.put(irrelevant).put(written.clone());
        harness.rejected(&[("I6", "although nothing has changed since")]);
    }
}

#[test]
fn i6_a_restart_causes_writes() {
    let mut harness = good();
    harness.mark(Window::NoWrites).accepted();
    harness.put(with(service(), "/metadata/annotations", json!({"poked": "1"})));
    harness.put(with(
        slice("web-1", &[shown(&pod_a()), shown(&pod_b())]),
        "/metadata/annotations",
        json!({"x": "y"}),
    ));
    let mut ended = harness.clone();
    harness.rejected(&[(
        "I6 mark \"here\" at 110",
        "no writes until the next mark; found EndpointSlice ns/web-1",
    )]);
    // By another hand it is no write of ours.
    ended.by_hand(&placeholder("web-1")).accepted();
    // Nor is what comes after the next mark.
    let mut after = good();
    after
        .mark(Window::NoWrites)
        .mark(Window::Any)
        .put(pod("c", "node-a", 3));
    after
        .put(slice(
            "web-1",
            &[shown(&pod_a()), shown(&pod_b()), shown(&pod("c", "node-a", 3))],
        ))
        .accepted();
}

/// What the garbage collector removes, with its owner or its namespace, is nobody's write.
#[test]
fn what_goes_with_its_owner_is_no_write() {
    let slice = || slice("web-1", &[shown(&pod_a()), shown(&pod_b())]);
    let mut harness = good();
    harness
        .mark(Window::NoWrites)
        .delete(&service())
        .delete(&slice())
        .accepted();
    let ending = json!({"name": "ns", "uid": "ns", "deletionTimestamp": "2026-01-02T03:04:05Z"});
    let mut harness = good();
    harness.mark(Window::NoWrites);
    harness
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": ending}))
        .delete(&slice())
        .accepted();
    let mut harness = good();
    harness
        .mark(Window::NoWrites)
        .put(with(service(), "/spec/selector", json!({"app": "x"})))
        .delete(&slice());
    harness.put(placeholder("web-2"));
    harness.rejected(&[("I6 mark", "found EndpointSlice ns/web-1, EndpointSlice ns/web-2")]);
}

/// A mark makes every cause before it an old one.
#[test]
fn i6_after_a_mark_old_causes_are_used_up() {
    let mut harness = good();
    harness.put(unready(pod_a())).put(pod_a()).mark(Window::Any);
    harness.put(with(
        slice("web-1", &[shown(&pod_a()), shown(&pod_b())]),
        "/metadata/annotations",
        json!({"x": "y"}),
    ));
    harness.rejected(&[("I6", "although nothing has changed since 112")]);
}

/// Writes per window ≤ slices touched + ⌈adds / max⌉.
#[test]
fn i6_more_writes_than_one_round_needs() {
    let (a, b, c) = (pod_a(), pod_b(), pod("c", "node-a", 3));
    let more: Vec<_> = (4..8).map(|n| pod(&format!("p{n}"), "node-b", n)).collect();
    let shown_more: Vec<_> = more.iter().map(shown).collect();
    let mut harness = good();
    harness.mark(Window::OneRound);
    for pod in [&c].into_iter().chain(&more) {
        harness.put(pod.clone());
    }
    let begun = harness.clone();
    // One slice is filled, one is new and full, one takes the rest: five are added, which need two.
    harness.put(slice("web-1", &[shown(&a), shown(&b), shown(&c)]));
    harness
        .put(slice("web-2", &shown_more[..3]))
        .put(slice("web-3", &shown_more[3..]))
        .accepted();
    let mut wasteful = begun;
    wasteful.put(slice("web-1", &[shown(&a), shown(&b), shown(&c)]));
    for (n, one) in shown_more.iter().enumerate() {
        wasteful.put(slice(&format!("web-x{n}"), std::slice::from_ref(one)));
    }
    wasteful.rejected(&[(
        "I6 Service ns/web",
        "1 slices written once and 2 new ones since \"here\"; found 5 writes",
    )]);
}

#[test]
fn i6_a_slice_is_written_twice_in_one_round() {
    let c = pod("c", "node-a", 3);
    let mut harness = good();
    harness
        .mark(Window::OneRound)
        .put(c.clone())
        .put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), shown(&c)]));
    harness.accepted();
    harness.put(unready(c.clone()));
    let unready = crate::fixtures::shown_unready(&c);
    harness.put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), unready]));
    // One is added, for which there is one more write; three are too many.
    harness.accepted();
    harness
        .put(c.clone())
        .put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), shown(&c)]));
    harness.rejected(&[(
        "I6",
        "1 slices written once and 1 new ones since \"here\"; found 3 writes",
    )]);
}

/// A new Service needs a placeholder for each address type.
#[test]
fn a_placeholder_is_part_of_one_round() {
    let mut harness = Harness::begin();
    harness
        .mark(Window::OneRound)
        .put(service())
        .put(placeholder("web-1"))
        .accepted();
}
