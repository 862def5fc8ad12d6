//! Slices of other managers (I7).

use serde_json::json;
use slice_oracle::CheckConfig;

use crate::fixtures::{endpoint_of, managed_by, mirrored, owned_by, placeholder, pod_a, pod_b, service, slice, with};
use crate::harness::config;
use crate::services::valid;

/// A slice of the same Service with another manager.
fn foreign() -> serde_json::Value {
    let slice = managed_by(slice("web-x", &[endpoint_of(&pod_a())]), "other-manager");
    with(slice, "/metadata/ownerReferences", json!(null))
}

fn foreign_rewritten() -> serde_json::Value {
    with(foreign(), "/metadata/annotations", json!({"x": "y"}))
}

const NO_FOREIGN_WRITE: &str = "no write to a slice that is managed by \"other-manager\"";

#[test]
fn i7_foreign_slice_updated() {
    let mut harness = valid();
    harness.put(foreign()).assert_no_violations();
    harness.put(foreign_rewritten());
    harness.assert_violations(&[("I7 EndpointSlice ns/web-x at 111", NO_FOREIGN_WRITE)]);
    let other = CheckConfig {
        others: ["other-manager".to_owned()].into(),
        ..config()
    };
    assert_eq!(harness.history_violations(&other), [""; 0]);
    harness.record_manual_write(&foreign()).assert_no_violations();
}

#[test]
fn i7_foreign_slice_deleted() {
    let mut harness = valid();
    harness.put(foreign()).delete(&foreign());
    harness.assert_violations(&[("I7", NO_FOREIGN_WRITE)]);
    harness.record_manual_write(&foreign()).assert_no_violations();
}

#[test]
fn i7_slice_without_manager_updated() {
    let mut harness = valid();
    let unlabelled = with(
        foreign(),
        "/metadata/labels",
        json!({"kubernetes.io/service-name": "web"}),
    );
    harness
        .put(unlabelled.clone())
        .put(with(unlabelled, "/metadata/annotations", json!({"x": "y"})));
    harness.assert_violations(&[("I7", "no write to a slice that is managed by \"\"")]);
}

#[test]
fn i7_foreign_slice_adopted() {
    let mut harness = valid();
    harness.listed(foreign()).put(slice("web-x", &[]));
    harness.assert_violations(&[("I7", NO_FOREIGN_WRITE)]);
}

#[test]
fn i7_owner_changed() {
    let again = with(service(), "/metadata/uid", json!("again"));
    let mut harness = valid();
    harness.delete(&service()).put(again);
    harness.put(owned_by(
        slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]),
        "again",
    ));
    harness.assert_violations(&[(
        "I7 EndpointSlice ns/web-1",
        "unchanged owner \"Service-web\"; found Some(\"again\")",
    )]);
}

#[test]
fn i7_owner_that_never_existed() {
    let mut harness = valid();
    harness.put(owned_by(placeholder("web-2"), "stranger"));
    harness.assert_violations(&[
        (
            "I7",
            "an owner reference to a Service ns/web that has existed; found owner Some(\"stranger\")",
        ),
        ("I2", ""),
    ]);
}

/// A slice of another owner may be deleted, even if a finalizer delays the deletion (W3).
#[test]
fn i7_slice_of_another_owner_with_finalizer_deleted() {
    let held = with(
        owned_by(placeholder("web-2"), "stranger"),
        "/metadata/finalizers",
        json!(["x/y"]),
    );
    let terminating = with(
        held.clone(),
        "/metadata/deletionTimestamp",
        json!("2026-01-02T03:04:05Z"),
    );
    let mut harness = valid();
    harness
        .put(held.clone())
        .record_manual_write(&held)
        .put(terminating.clone());
    harness.assert_no_violations();
    // A later write is a violation.
    harness.put(with(terminating, "/metadata/annotations", json!({"x": "y"})));
    let wrong = harness.history_violations(&config());
    assert!(wrong.iter().any(|line| line.starts_with("I7")), "{wrong:#?}");
}

/// The owner of a mirrored slice is the Endpoints object, not the Service.
#[test]
fn i7_mirrored_slice_owned_by_a_service() {
    let mut harness = crate::mirrored::valid();
    harness.put(owned_by(mirrored("web-n", &["10.0.0.1"], &[]), "Service-web"));
    harness.assert_violations(&[
        ("I7", "a Endpoints ns/web that has existed; found owner None"),
        ("I2", "a slice of Endpoints ns/web"),
    ]);
}

/// Another client relabels a slice, and the controller creates a replacement (G-16).
#[test]
fn a_manually_relabelled_slice_is_replaced() {
    let mut harness = valid();
    let gone = managed_by(
        slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]),
        "other-manager",
    );
    harness.put(gone.clone());
    let mut unowned = harness.clone();
    harness
        .record_manual_write(&gone)
        .put(slice("web-2", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]))
        .assert_no_violations();
    unowned.put(slice("web-2", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]));
    let wrong = unowned.history_violations(&config());
    let expected = "an unchanged managed-by label; found managed-by \"other-manager\"";
    assert!(
        wrong
            .iter()
            .any(|line| line.starts_with("I7") && line.ends_with(expected)),
        "{wrong:#?}"
    );
}
