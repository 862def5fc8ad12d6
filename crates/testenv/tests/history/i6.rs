//! I6: nothing is written without need.

use serde_json::json;
use testenv::history::Window;

use crate::i1_i2_services::good;
use crate::objects::{placeholder, pod, pod_a, pod_b, service, shown, slice, unready, with};
use crate::story::Story;

#[test]
fn i6_a_write_changes_only_the_order() {
    let mut story = good();
    story.put(with(service(), "/metadata/annotations", json!({"poked": "1"})));
    story.put(slice("web-1", &[shown(&pod_b()), shown(&pod_a())]));
    story.rejected(&[(
        "I6 EndpointSlice ns/web-1 at 111",
        "the same as before, but for order and trigger time",
    )]);
}

#[test]
fn i6_a_write_changes_only_the_trigger_time() {
    let mut story = good();
    story.put(with(service(), "/metadata/annotations", json!({"poked": "1"})));
    let time = json!({"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z"});
    let slice = slice("web-1", &[shown(&pod_a()), shown(&pod_b())]);
    story.put(with(slice, "/metadata/annotations", time));
    story.rejected(&[("I6", "the same as before, but for order and trigger time")]);
}

/// F24: no hot loop.
#[test]
fn i6_a_slice_is_written_more_often_than_anything_changes() {
    let mut story = good();
    let slice = slice("web-1", &[shown(&pod_a()), shown(&pod_b())]);
    // What differs is not looked at.
    story.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "1"})));
    story.rejected(&[("I6", "no more writes than changes of what ns/web is made from")]);
    // A cause is good for one write, and a late one is allowed.
    let mut story = good();
    story.put(unready(pod_a())).put(pod_a());
    story.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "1"})));
    story.put(with(slice.clone(), "/metadata/annotations", json!({"loop": "2"})));
    story.accepted();
    story.put(with(slice, "/metadata/annotations", json!({"loop": "3"})));
    story.rejected(&[("I6", "although nothing has changed since")]);
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
            crate::objects::node("node-a", "zone-a"),
            "/metadata/annotations",
            json!({"x": "y"}),
        ),
        other,
    ] {
        let mut story = good();
        story.put(irrelevant).put(written.clone());
        story.rejected(&[("I6", "although nothing has changed since")]);
    }
}

#[test]
fn i6_a_restart_causes_writes() {
    let mut story = good();
    story.mark(Window::NoWrites).accepted();
    story.put(with(service(), "/metadata/annotations", json!({"poked": "1"})));
    story.put(with(
        slice("web-1", &[shown(&pod_a()), shown(&pod_b())]),
        "/metadata/annotations",
        json!({"x": "y"}),
    ));
    let mut ended = story.clone();
    story.rejected(&[(
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
    let mut story = good();
    story
        .mark(Window::NoWrites)
        .delete(&service())
        .delete(&slice())
        .accepted();
    let ending = json!({"name": "ns", "uid": "ns", "deletionTimestamp": "2026-01-02T03:04:05Z"});
    let mut story = good();
    story.mark(Window::NoWrites);
    story
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": ending}))
        .delete(&slice())
        .accepted();
    let mut story = good();
    story
        .mark(Window::NoWrites)
        .put(with(service(), "/spec/selector", json!({"app": "x"})))
        .delete(&slice());
    story.put(placeholder("web-2"));
    story.rejected(&[("I6 mark", "found EndpointSlice ns/web-1, EndpointSlice ns/web-2")]);
}

/// A mark makes every cause before it an old one.
#[test]
fn i6_after_a_mark_old_causes_are_used_up() {
    let mut story = good();
    story.put(unready(pod_a())).put(pod_a()).mark(Window::Any);
    story.put(with(
        slice("web-1", &[shown(&pod_a()), shown(&pod_b())]),
        "/metadata/annotations",
        json!({"x": "y"}),
    ));
    story.rejected(&[("I6", "although nothing has changed since 112")]);
}

/// Writes per window ≤ slices touched + ⌈adds / max⌉.
#[test]
fn i6_more_writes_than_one_round_needs() {
    let (a, b, c) = (pod_a(), pod_b(), pod("c", "node-a", 3));
    let more: Vec<_> = (4..8).map(|n| pod(&format!("p{n}"), "node-b", n)).collect();
    let shown_more: Vec<_> = more.iter().map(shown).collect();
    let mut story = good();
    story.mark(Window::OneRound);
    for pod in [&c].into_iter().chain(&more) {
        story.put(pod.clone());
    }
    let begun = story.clone();
    // One slice is filled, one is new and full, one takes the rest: five are added, which need two.
    story.put(slice("web-1", &[shown(&a), shown(&b), shown(&c)]));
    story
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
    let mut story = good();
    story
        .mark(Window::OneRound)
        .put(c.clone())
        .put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), shown(&c)]));
    story.accepted();
    story.put(unready(c.clone()));
    let unready = crate::objects::shown_unready(&c);
    story.put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), unready]));
    // One is added, for which there is one more write; three are too many.
    story.accepted();
    story
        .put(c.clone())
        .put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), shown(&c)]));
    story.rejected(&[(
        "I6",
        "1 slices written once and 1 new ones since \"here\"; found 3 writes",
    )]);
}

/// A new Service needs a placeholder for each address type.
#[test]
fn a_placeholder_is_part_of_one_round() {
    let mut story = Story::begin();
    story
        .mark(Window::OneRound)
        .put(service())
        .put(placeholder("web-1"))
        .accepted();
}
