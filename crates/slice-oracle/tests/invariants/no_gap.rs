//! An endpoint that stays ready stays published (I4).

use serde_json::json;
use slice_oracle::Window;

use crate::fixtures::{
    dual_stack_service, endpoint_of, endpoint_of_v6, endpoints, mirrored, pod, pod_a, pod_b, service, slice, slice_v6,
    unready, unready_endpoint_of, with,
};
use crate::harness::Harness;
use crate::mirrored;
use crate::services::valid;

fn both() -> serde_json::Value {
    slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())])
}

fn only_b() -> serde_json::Value {
    slice("web-1", &[endpoint_of(&pod_b())])
}

fn with_a_unready() -> serde_json::Value {
    slice("web-1", &[unready_endpoint_of(&pod_a()), endpoint_of(&pod_b())])
}

/// The Service with an unrelated annotation, so that a write has a cause.
fn annotated(number: usize) -> serde_json::Value {
    with(
        service(),
        "/metadata/annotations",
        json!({"annotated": number.to_string()}),
    )
}

const GONE: (&str, &str) = (
    "I4",
    "pod a (IPv4) published and ready without a gap; found it is in no slice",
);
const UNREADY: (&str, &str) = (
    "I4",
    "pod a (IPv4) published and ready without a gap; found it is not ready",
);

#[test]
fn i4_pod_removed_and_added_again() {
    let mut harness = valid();
    harness.put(annotated(1)).put(only_b()).put(annotated(2)).put(both());
    harness.assert_violations(&[GONE]);
}

#[test]
fn i4_slice_deleted_before_its_endpoints_are_in_another_slice() {
    let mut harness = valid();
    harness
        .put(annotated(1))
        .delete(&both())
        .put(slice("web-2", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]));
    let gone_b = (
        "I4",
        "pod b (IPv4) published and ready without a gap; found it is in no slice",
    );
    harness.assert_violations(&[GONE, gone_b]);
    // In the opposite order there is no gap.
    let mut harness = valid();
    harness
        .put(annotated(1))
        .put(slice("web-2", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]))
        .delete(&both());
    harness.assert_no_violations();
}

#[test]
fn i4_readiness_toggles() {
    let mut harness = valid();
    harness
        .put(annotated(1))
        .put(with_a_unready())
        .put(annotated(2))
        .put(both());
    harness.assert_violations(&[UNREADY]);
}

#[test]
fn i4_one_of_two_endpoints_of_a_pod_is_not_ready() {
    let mut harness = valid();
    harness
        .put(annotated(1))
        .put(slice("web-2", &[unready_endpoint_of(&pod_a())]))
        .put(only_b());
    harness.put(annotated(2)).put(slice("web-2", &[endpoint_of(&pod_a())]));
    harness.assert_violations(&[UNREADY]);
}

/// A controller may lag, but its cache does not go back: one change of the pod allows one change of the endpoint.
#[test]
fn i4_lagging_controller_toggles_once_per_pod_change() {
    let mut flapped = valid();
    flapped
        .put(unready(pod_a()))
        .put(pod_a())
        .put(with_a_unready())
        .put(annotated(1))
        .put(both());
    flapped.assert_no_violations();
    flapped
        .put(annotated(2))
        .put(with_a_unready())
        .put(annotated(3))
        .put(both());
    flapped.assert_violations(&[UNREADY]);
}

/// Watches are not synchronized: the pod becomes ready, then the Service stops publishing not ready addresses. A
/// controller that observes the Service first publishes the pod as not ready. Once it has published the pod as ready,
/// it has observed the pod.
#[test]
fn i4_pod_readiness_is_observed_after_a_later_service_change() {
    let published_unready = with(unready_endpoint_of(&pod_a()), "/conditions/ready", json!(true));
    let publishes = with(service(), "/spec/publishNotReadyAddresses", json!(true));
    let mut harness = Harness::new();
    harness.put(publishes).put(unready(pod_a())).put(pod_b());
    harness.put(slice("web-1", &[published_unready, endpoint_of(&pod_b())]));
    harness.put(pod_a()).put(service()).put(with_a_unready()).put(both());
    harness.assert_no_violations();
    harness
        .put(annotated(1))
        .put(with_a_unready())
        .put(annotated(2))
        .put(both());
    harness.assert_violations(&[UNREADY]);
}

/// Of two slices with the same endpoints, the controller deletes one while another client relabels the other.
#[test]
fn i4_duplicate_deleted_while_the_original_is_relabelled_manually() {
    let copy = || slice("web-2", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    let replacement = || slice("web-3", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    let gone = with(both(), "/metadata/labels/kubernetes.io~1service-name", json!("other"));
    let mut harness = valid();
    harness.put(copy()).record_manual_write(&copy());
    harness
        .put(gone)
        .record_manual_write(&both())
        .delete(&copy())
        .put(replacement());
    harness.assert_no_violations();
    // A restored endpoint is checked again.
    harness.put(annotated(1)).put(slice("web-3", &[endpoint_of(&pod_b())]));
    harness.put(annotated(2)).put(replacement());
    harness.assert_violations(&[GONE]);
}

/// Clients of a Service do not see a slice with the label of another Service (W1).
#[test]
fn i4_slice_with_another_service_name_does_not_count() {
    let relabelled = with(both(), "/metadata/labels/kubernetes.io~1service-name", json!("other"));
    let replacement = || slice("web-2", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]);
    let mut harness = valid();
    harness
        .put(relabelled)
        .record_manual_write(&both())
        .put(replacement())
        .assert_no_violations();
    harness
        .put(annotated(1))
        .put(slice("web-2", &[endpoint_of(&pod_b())]))
        .put(annotated(2))
        .put(replacement());
    harness.assert_violations(&[GONE]);
}

/// A change before the maximum lag, or before a mark, does not justify a write.
#[test]
fn i4_old_input_changes_do_not_justify_a_write() {
    let mut harness = valid();
    harness.put(unready(pod_a())).put(pod_a());
    let mut late = harness.clone();
    late.wait(20)
        .put(with_a_unready())
        .put(annotated(1))
        .put(both())
        .assert_no_violations();
    let mut too_late = harness.clone();
    too_late
        .wait(40)
        .put(with_a_unready())
        .put(annotated(1))
        .put(both())
        .assert_violations(&[UNREADY]);
    harness
        .mark(Window::Any)
        .put(annotated(1))
        .put(with_a_unready())
        .put(annotated(2))
        .put(both());
    harness.assert_violations(&[UNREADY]);
}

#[test]
fn i4_one_address_type_removed() {
    let (a, v4) = (pod_a(), slice("web-1", &[endpoint_of(&pod_a())]));
    let mut harness = Harness::new();
    harness.put(dual_stack_service()).put(a.clone()).put(v4);
    harness.put(slice_v6("web-6", &[endpoint_of_v6(&a)]));
    harness.assert_no_violations();
    let annotated = |number: usize| {
        with(
            dual_stack_service(),
            "/metadata/annotations",
            json!({"annotated": number.to_string()}),
        )
    };
    harness
        .put(annotated(1))
        .put(with(slice_v6("web-6", &[]), "/ports", json!(null)));
    harness.put(annotated(2)).put(slice_v6("web-6", &[endpoint_of_v6(&a)]));
    harness.assert_violations(&[(
        "I4 EndpointSlice ns/web-6",
        "pod a (IPv6) published and ready without a gap",
    )]);
}

#[test]
fn i4_mirrored_address_removed_or_toggled() {
    let addresses = ["10.0.0.1", "10.0.0.2"];
    let annotated = |number: usize| {
        let annotations = json!({"annotated": number.to_string()});
        with(
            endpoints(&addresses, &["10.0.0.3"]),
            "/metadata/annotations",
            annotations,
        )
    };
    let complete = mirrored("web-m", &addresses, &["10.0.0.3"]);
    let mut harness = mirrored::valid();
    harness
        .put(annotated(1))
        .put(mirrored("web-m", &["10.0.0.1"], &["10.0.0.3"]))
        .put(annotated(2))
        .put(complete.clone());
    harness.assert_violations(&[("I4", "address 10.0.0.2 published and ready without a gap")]);
    let mut harness = mirrored::valid();
    harness
        .put(annotated(1))
        .put(mirrored("web-m", &["10.0.0.1"], &["10.0.0.2", "10.0.0.3"]))
        .put(annotated(2))
        .put(complete);
    harness.assert_violations(&[(
        "I4",
        "address 10.0.0.2 published and ready without a gap; found it is not ready",
    )]);
}

#[test]
fn justified_removals_are_no_violations() {
    let a = pod_a();
    for gone in [
        unready(a.clone()),
        with(a.clone(), "/metadata/labels/app", json!("other")),
        with(a.clone(), "/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z")),
        with(a.clone(), "/status/phase", json!("Failed")),
        with(a.clone(), "/spec/nodeName", json!("node-x")),
    ] {
        let mut harness = valid();
        harness.put(gone).put(only_b());
        assert_eq!(harness.history_violations(&crate::harness::config()), [""; 0]);
    }
    // A pod of a deleted node (R65).
    let mut harness = valid();
    harness
        .delete(&crate::fixtures::node("node-a", "zone-a"))
        .put(only_b())
        .assert_no_violations();
    // After its Service is deleted.
    let mut harness = valid();
    harness.delete(&service()).delete(&both()).assert_no_violations();
    // With a terminating namespace.
    let mut harness = valid();
    let ending = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "uid": "ns",
        "deletionTimestamp": "2026-01-02T03:04:05Z"}});
    harness.put(ending).delete(&both()).assert_no_violations();
    // By a manual deletion, which the controller repairs.
    let mut harness = valid();
    harness
        .delete(&both())
        .record_manual_write(&both())
        .put(slice("web-2", &[endpoint_of(&a), endpoint_of(&pod_b())]))
        .assert_no_violations();
    // A pod that was never ready.
    let mut harness = valid();
    let c = pod("c", "node-a", 3);
    harness
        .put(unready(c.clone()))
        .put(slice(
            "web-1",
            &[endpoint_of(&a), endpoint_of(&pod_b()), endpoint_of(&c)],
        ))
        .put(both());
    assert_eq!(
        harness.history_violations(&crate::harness::config()).len(),
        1,
        "only the spurious write (I6)"
    );
}
