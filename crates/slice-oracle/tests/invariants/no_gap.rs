//! I4: what stays ready stays published.

use serde_json::json;
use slice_oracle::Window;

use crate::fixtures::{
    dual_stack_service, endpoints, mirrored, pod, pod_a, pod_b, service, shown, shown_unready, shown_v6, slice,
    slice_v6, unready, with,
};
use crate::harness::Harness;
use crate::mirrored;
use crate::services::good;

fn both() -> serde_json::Value {
    slice("web-1", &[shown(&pod_a()), shown(&pod_b())])
}

fn only_b() -> serde_json::Value {
    slice("web-1", &[shown(&pod_b())])
}

fn a_unready() -> serde_json::Value {
    slice("web-1", &[shown_unready(&pod_a()), shown(&pod_b())])
}

/// Something else about the Service, so that a write has a cause.
fn poked(number: usize) -> serde_json::Value {
    with(service(), "/metadata/annotations", json!({"poked": number.to_string()}))
}

const GONE: (&str, &str) = (
    "I4",
    "pod a (IPv4) to stay published, for it stayed ready; found it is in no slice any more",
);
const UNREADY: (&str, &str) = (
    "I4",
    "pod a (IPv4) to stay published, for it stayed ready; found it is not ready any more",
);

#[test]
fn i4_a_pod_disappears_for_a_moment() {
    let mut harness = good();
    harness.put(poked(1)).put(only_b()).put(poked(2)).put(both());
    harness.rejected(&[GONE]);
}

#[test]
fn i4_a_slice_is_deleted_before_its_endpoints_are_elsewhere() {
    let mut harness = good();
    harness
        .put(poked(1))
        .delete(&both())
        .put(slice("web-2", &[shown(&pod_a()), shown(&pod_b())]));
    let gone_b = (
        "I4",
        "pod b (IPv4) to stay published, for it stayed ready; found it is in no slice any more",
    );
    harness.rejected(&[GONE, gone_b]);
    // The other way round nobody misses them.
    let mut harness = good();
    harness
        .put(poked(1))
        .put(slice("web-2", &[shown(&pod_a()), shown(&pod_b())]))
        .delete(&both());
    harness.accepted();
}

#[test]
fn i4_readiness_toggles() {
    let mut harness = good();
    harness.put(poked(1)).put(a_unready()).put(poked(2)).put(both());
    harness.rejected(&[UNREADY]);
}

#[test]
fn i4_of_two_endpoints_of_a_pod_one_is_not_ready() {
    let mut harness = good();
    harness
        .put(poked(1))
        .put(slice("web-2", &[shown_unready(&pod_a())]))
        .put(only_b());
    harness.put(poked(2)).put(slice("web-2", &[shown(&pod_a())]));
    harness.rejected(&[UNREADY]);
}

/// A controller may be late, but it does not go back: one change of the pod excuses one of the endpoint.
#[test]
fn i4_a_late_controller_toggles_once_for_each_change_of_the_pod() {
    let mut flapped = good();
    flapped
        .put(unready(pod_a()))
        .put(pod_a())
        .put(a_unready())
        .put(poked(1))
        .put(both());
    flapped.accepted();
    flapped.put(poked(2)).put(a_unready()).put(poked(3)).put(both());
    flapped.rejected(&[UNREADY]);
}

/// Watches are not in step: the Service no longer publishes what is not ready, and the pod was ready before that, but who
/// hears of the Service first shows the pod as not ready. Once it is shown as ready, the pod is known.
#[test]
fn i4_a_pod_that_became_ready_is_seen_after_its_service() {
    let unready_but_shown = with(shown_unready(&pod_a()), "/conditions/ready", json!(true));
    let publishes = with(service(), "/spec/publishNotReadyAddresses", json!(true));
    let mut harness = Harness::begin();
    harness.put(publishes).put(unready(pod_a())).put(pod_b());
    harness.put(slice("web-1", &[unready_but_shown, shown(&pod_b())]));
    harness.put(pod_a()).put(service()).put(a_unready()).put(both());
    harness.accepted();
    harness.put(poked(1)).put(a_unready()).put(poked(2)).put(both());
    harness.rejected(&[UNREADY]);
}

/// Of two slices with the same endpoints the controller deletes one, while somebody gives the other away.
#[test]
fn i4_a_duplicate_goes_while_somebody_takes_the_original() {
    let copy = || slice("web-2", &[shown(&pod_a()), shown(&pod_b())]);
    let replacement = || slice("web-3", &[shown(&pod_a()), shown(&pod_b())]);
    let gone = with(both(), "/metadata/labels/kubernetes.io~1service-name", json!("other"));
    let mut harness = good();
    harness.put(copy()).by_hand(&copy());
    harness.put(gone).by_hand(&both()).delete(&copy()).put(replacement());
    harness.accepted();
    // What was put back is watched over as before.
    harness.put(poked(1)).put(slice("web-3", &[shown(&pod_b())]));
    harness.put(poked(2)).put(replacement());
    harness.rejected(&[GONE]);
}

/// W1: a slice that somebody gave another Service's name is not seen by readers of this one.
#[test]
fn i4_a_slice_under_another_name_does_not_count() {
    let relabelled = with(both(), "/metadata/labels/kubernetes.io~1service-name", json!("other"));
    let replacement = || slice("web-2", &[shown(&pod_a()), shown(&pod_b())]);
    let mut harness = good();
    harness.put(relabelled).by_hand(&both()).put(replacement()).accepted();
    harness
        .put(poked(1))
        .put(slice("web-2", &[shown(&pod_b())]))
        .put(poked(2))
        .put(replacement());
    harness.rejected(&[GONE]);
}

/// What was too long ago, or before a mark, is no excuse.
#[test]
fn i4_an_excuse_does_not_last() {
    let mut harness = good();
    harness.put(unready(pod_a())).put(pod_a());
    let mut late = harness.clone();
    late.wait(20).put(a_unready()).put(poked(1)).put(both()).accepted();
    let mut too_late = harness.clone();
    too_late
        .wait(40)
        .put(a_unready())
        .put(poked(1))
        .put(both())
        .rejected(&[UNREADY]);
    harness
        .mark(Window::Any)
        .put(poked(1))
        .put(a_unready())
        .put(poked(2))
        .put(both());
    harness.rejected(&[UNREADY]);
}

#[test]
fn i4_one_address_type_disappears() {
    let (a, v4) = (pod_a(), slice("web-1", &[shown(&pod_a())]));
    let mut harness = Harness::begin();
    harness.put(dual_stack_service()).put(a.clone()).put(v4);
    harness.put(slice_v6("web-6", &[shown_v6(&a)]));
    harness.accepted();
    let poked = |number: usize| {
        with(
            dual_stack_service(),
            "/metadata/annotations",
            json!({"poked": number.to_string()}),
        )
    };
    harness
        .put(poked(1))
        .put(with(slice_v6("web-6", &[]), "/ports", json!(null)));
    harness.put(poked(2)).put(slice_v6("web-6", &[shown_v6(&a)]));
    harness.rejected(&[("I4 EndpointSlice ns/web-6", "pod a (IPv6) to stay published")]);
}

#[test]
fn i4_a_mirrored_address_disappears_or_toggles() {
    let addresses = ["10.0.0.1", "10.0.0.2"];
    let poked = |number: usize| {
        let poke = json!({"poked": number.to_string()});
        with(endpoints(&addresses, &["10.0.0.3"]), "/metadata/annotations", poke)
    };
    let whole = mirrored("web-m", &addresses, &["10.0.0.3"]);
    let mut harness = mirrored::good();
    harness
        .put(poked(1))
        .put(mirrored("web-m", &["10.0.0.1"], &["10.0.0.3"]))
        .put(poked(2))
        .put(whole.clone());
    harness.rejected(&[("I4", "address 10.0.0.2 to stay published")]);
    let mut harness = mirrored::good();
    harness
        .put(poked(1))
        .put(mirrored("web-m", &["10.0.0.1"], &["10.0.0.2", "10.0.0.3"]))
        .put(poked(2))
        .put(whole);
    harness.rejected(&[(
        "I4",
        "address 10.0.0.2 to stay published, for it stayed ready; found it is not ready any more",
    )]);
}

#[test]
fn what_has_a_reason_to_go_may_go() {
    let a = pod_a();
    for gone in [
        unready(a.clone()),
        with(a.clone(), "/metadata/labels/app", json!("other")),
        with(a.clone(), "/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z")),
        with(a.clone(), "/status/phase", json!("Failed")),
        with(a.clone(), "/spec/nodeName", json!("node-x")),
    ] {
        let mut harness = good();
        harness.put(gone).put(only_b());
        assert_eq!(harness.over_time(&crate::harness::limits()), [""; 0]);
    }
    // R65: of a deleted node.
    let mut harness = good();
    harness
        .delete(&crate::fixtures::node("node-a", "zone-a"))
        .put(only_b())
        .accepted();
    // With its Service, by whomever.
    let mut harness = good();
    harness.delete(&service()).delete(&both()).accepted();
    // With its namespace.
    let mut harness = good();
    let ending = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "uid": "ns",
        "deletionTimestamp": "2026-01-02T03:04:05Z"}});
    harness.put(ending).delete(&both()).accepted();
    // By hand, to be repaired.
    let mut harness = good();
    harness
        .delete(&both())
        .by_hand(&both())
        .put(slice("web-2", &[shown(&a), shown(&pod_b())]))
        .accepted();
    // A pod that was never seen ready.
    let mut harness = good();
    let c = pod("c", "node-a", 3);
    harness
        .put(unready(c.clone()))
        .put(slice("web-1", &[shown(&a), shown(&pod_b()), shown(&c)]))
        .put(both());
    assert_eq!(
        harness.over_time(&crate::harness::limits()).len(),
        1,
        "only the needless write"
    );
}
