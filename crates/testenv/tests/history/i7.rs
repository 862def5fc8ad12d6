//! I7: slices of others.

use serde_json::json;
use testenv::history::Limits;

use crate::i1_i2_services::good;
use crate::objects::{managed_by, mirrored, owned_by, placeholder, pod_a, pod_b, service, shown, slice, with};
use crate::story::limits;

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
    let mut story = good();
    story.put(foreign()).accepted();
    story.put(foreign_rewritten());
    story.rejected(&[("I7 EndpointSlice ns/web-x at 111", LEFT_ALONE)]);
    let somebody = Limits {
        others: ["somebody".to_owned()].into(),
        ..limits()
    };
    assert_eq!(story.over_time(&somebody), [""; 0]);
    story.by_hand(&foreign()).accepted();
}

#[test]
fn i7_a_foreign_slice_is_deleted() {
    let mut story = good();
    story.put(foreign()).delete(&foreign());
    story.rejected(&[("I7", LEFT_ALONE)]);
    story.by_hand(&foreign()).accepted();
}

#[test]
fn i7_a_slice_without_manager_is_written() {
    let mut story = good();
    let nobodys = with(
        foreign(),
        "/metadata/labels",
        json!({"kubernetes.io/service-name": "web"}),
    );
    story
        .put(nobodys.clone())
        .put(with(nobodys, "/metadata/annotations", json!({"x": "y"})));
    story.rejected(&[("I7", "managed by \"\" to be left alone")]);
}

#[test]
fn i7_a_foreign_slice_is_adopted() {
    let mut story = good();
    story.listed(foreign()).put(slice("web-x", &[]));
    story.rejected(&[("I7", LEFT_ALONE)]);
}

#[test]
fn i7_a_slice_gets_another_owner() {
    let again = with(service(), "/metadata/uid", json!("again"));
    let mut story = good();
    story.delete(&service()).put(again);
    story.put(owned_by(slice("web-1", &[shown(&pod_a()), shown(&pod_b())]), "again"));
    story.rejected(&[(
        "I7 EndpointSlice ns/web-1",
        "the owner \"Service-web\" for life; found Some(\"again\")",
    )]);
}

#[test]
fn i7_a_slice_has_an_owner_that_never_was() {
    let mut story = good();
    story.put(owned_by(placeholder("web-2"), "stranger"));
    story.rejected(&[
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
    let mut story = good();
    story.put(held.clone()).by_hand(&held).put(going.clone());
    story.accepted();
    // Then it is left alone.
    story.put(with(going, "/metadata/annotations", json!({"x": "y"})));
    let wrong = story.over_time(&limits());
    assert!(wrong.iter().any(|line| line.starts_with("I7")), "{wrong:#?}");
}

/// The owner of a mirrored slice is the Endpoints object, not the Service.
#[test]
fn i7_a_mirrored_slice_has_a_service_as_its_owner() {
    let mut story = crate::i1_i2_mirrored::good();
    story.put(owned_by(mirrored("web-n", &["10.0.0.1"], &[]), "Service-web"));
    story.rejected(&[
        ("I7", "a Endpoints ns/web that has existed; found the owner None"),
        ("I2", "a slice of Endpoints ns/web"),
    ]);
}

/// G-16: somebody relabels a slice, and the controller makes another.
#[test]
fn a_slice_relabelled_by_hand_is_replaced() {
    let mut story = good();
    let gone = managed_by(slice("web-1", &[shown(&pod_a()), shown(&pod_b())]), "somebody");
    story.put(gone.clone());
    let mut unowned = story.clone();
    story
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
