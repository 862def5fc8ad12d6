//! I7: slices of others.

use serde_json::json;
use slice_oracle::Limits;

use crate::fixtures::{managed_by, mirrored, owned_by, placeholder, pod_a, pod_b, service, shown, slice, with};
use crate::harness::limits;
use crate::services::good;

/// A slice for the same Service, made by somebody else.
fn foreign() -> serde_json::Value {
    let slice = managed_by(slice("web-x", &[shown(&pod_a())]), "somebody");
    with(slice, "/metadata/ownerReferences", json!(null))
}

fn foreign_rewritten() -> serde_json::Value {
    with(foreign(), "/metadata/annotations", json!({"x": "y"}))
}

const LEFT_ALONE: &str = "a slice that is managed by \"somebody\" to be left alone";

#[test]
fn i7_a_foreign_slice_is_written() {
    let mut harness = good();
    harness.put(foreign()).accepted();
    harness.put(foreign_rewritten());
    harness.rejected(&[("I7 EndpointSlice ns/web-x at 111", LEFT_ALONE)]);
    let somebody = Limits {
        others: ["somebody".to_owned()].into(),
        ..limits()
    };
    assert_eq!(harness.over_time(&somebody), [""; 0]);
    harness.by_hand(&foreign()).accepted();
}

#[test]
fn i7_a_foreign_slice_is_deleted() {
    let mut harness = good();
    harness.put(foreign()).delete(&foreign());
    harness.rejected(&[("I7", LEFT_ALONE)]);
    harness.by_hand(&foreign()).accepted();
}

#[test]
fn i7_a_slice_without_manager_is_written() {
    let mut harness = good();
    let nobodys = with(
        foreign(),
        "/metadata/labels",
        json!({"kubernetes.io/service-name": "web"}),
    );
    harness
        .put(nobodys.clone())
        .put(with(nobodys, "/metadata/annotations", json!({"x": "y"})));
    harness.rejected(&[("I7", "managed by \"\" to be left alone")]);
}

#[test]
fn i7_a_foreign_slice_is_adopted() {
    let mut harness = good();
    harness.listed(foreign()).put(slice("web-x", &[]));
    harness.rejected(&[("I7", LEFT_ALONE)]);
}

#[test]
fn i7_a_slice_gets_another_owner() {
    let again = with(service(), "/metadata/uid", json!("again"));
    let mut harness = good();
    harness.delete(&service()).put(again);
    harness.put(owned_by(slice("web-1", &[shown(&pod_a()), shown(&pod_b())]), "again"));
    harness.rejected(&[(
        "I7 EndpointSlice ns/web-1",
        "the owner \"Service-web\" for life; found Some(\"again\")",
    )]);
}

#[test]
fn i7_a_slice_has_an_owner_that_never_was() {
    let mut harness = good();
    harness.put(owned_by(placeholder("web-2"), "stranger"));
    harness.rejected(&[
        (
            "I7",
            "as its owner a Service ns/web that has existed; found the owner Some(\"stranger\")",
        ),
        ("I2", ""),
    ]);
}

/// W3: a slice of another owner may be deleted, also when a finalizer holds it and it stays for a while.
#[test]
fn i7_a_held_slice_of_another_owner_is_deleted() {
    let held = with(
        owned_by(placeholder("web-2"), "stranger"),
        "/metadata/finalizers",
        json!(["x/y"]),
    );
    let going = with(
        held.clone(),
        "/metadata/deletionTimestamp",
        json!("2026-01-02T03:04:05Z"),
    );
    let mut harness = good();
    harness.put(held.clone()).by_hand(&held).put(going.clone());
    harness.accepted();
    // Then it is left alone.
    harness.put(with(going, "/metadata/annotations", json!({"x": "y"})));
    let wrong = harness.over_time(&limits());
    assert!(wrong.iter().any(|line| line.starts_with("I7")), "{wrong:#?}");
}

/// The owner of a mirrored slice is the Endpoints object, not the Service.
#[test]
fn i7_a_mirrored_slice_has_a_service_as_its_owner() {
    let mut harness = crate::mirrored::good();
    harness.put(owned_by(mirrored("web-n", &["10.0.0.1"], &[]), "Service-web"));
    harness.rejected(&[
        ("I7", "a Endpoints ns/web that has existed; found the owner None"),
        ("I2", "a slice of Endpoints ns/web"),
    ]);
}

/// G-16: somebody relabels a slice, and the controller makes another.
#[test]
fn a_slice_relabelled_by_hand_is_replaced() {
    let mut harness = good();
    let gone = managed_by(slice("web-1", &[shown(&pod_a()), shown(&pod_b())]), "somebody");
    harness.put(gone.clone());
    let mut unowned = harness.clone();
    harness
        .by_hand(&gone)
        .put(slice("web-2", &[shown(&pod_a()), shown(&pod_b())]))
        .accepted();
    unowned.put(slice("web-2", &[shown(&pod_a()), shown(&pod_b())]));
    let wrong = unowned.over_time(&limits());
    let expected = "a slice that stays with its controller; found managed-by \"somebody\"";
    assert!(
        wrong
            .iter()
            .any(|line| line.starts_with("I7") && line.ends_with(expected)),
        "{wrong:#?}"
    );
}
