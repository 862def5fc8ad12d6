//! I5: placeholders.

use serde_json::json;

use crate::fixtures::{dual_stack_service, owned_by, placeholder, pod_a, service, shown, slice, slice_v6, with};
use crate::harness::Harness;

fn placeholder_v6(name: &str) -> serde_json::Value {
    with(placeholder(name), "/addressType", json!("IPv6"))
}

#[test]
fn good_histories_are_accepted() {
    Harness::begin().put(service()).put(placeholder("web-1")).accepted();
    let mut harness = Harness::begin();
    harness
        .put(dual_stack_service())
        .put(placeholder("web-4"))
        .put(placeholder_v6("web-6"))
        .accepted();
    // G-08: pods of one family only.
    let v4 = with(pod_a(), "/status/podIPs", json!([{"ip": "10.0.0.1"}]));
    harness.put(v4.clone()).put(slice("web-4", &[shown(&v4)])).accepted();
}

#[test]
fn i5_there_is_no_placeholder() {
    let mut harness = Harness::begin();
    harness.put(service());
    harness.rejected(&[(
        "I5 Service ns/web (IPv4)",
        "exactly one slice, without endpoints and ports; found {}",
    )]);
}

#[test]
fn i5_one_address_type_has_no_placeholder() {
    let mut harness = Harness::begin();
    harness.put(dual_stack_service()).put(placeholder("web-1"));
    harness.rejected(&[("I5 Service ns/web (IPv6)", "found {}")]);
}

#[test]
fn i5_there_are_two_placeholders() {
    let mut harness = Harness::begin();
    harness
        .put(service())
        .put(placeholder("web-1"))
        .put(placeholder("web-2"));
    harness.rejected(&[("I5", r#"found {"ns/web-1", "ns/web-2"}"#)]);
}

/// R88.
#[test]
fn i5_a_placeholder_has_ports() {
    let mut harness = Harness::begin();
    harness.put(service()).put(slice("web-1", &[]));
    harness.rejected(&[("I5", r#"found {"ns/web-1"}"#)]);
}

/// W26, G-39: the placeholder of an earlier Service of the same name.
#[test]
fn i5_the_placeholder_belongs_to_an_earlier_service() {
    let again = with(service(), "/metadata/uid", json!("again"));
    let mut harness = Harness::begin();
    harness
        .put(service())
        .put(placeholder("web-1"))
        .delete(&service())
        .put(again);
    harness.rejected(&[("I2", "no slice of another owner"), ("I5", "found {}")]);
    harness
        .put(owned_by(placeholder("web-2"), "again"))
        .delete(&placeholder("web-1"))
        .accepted();
}

/// A slice that is being deleted is none.
#[test]
fn i5_a_slice_that_goes_is_no_placeholder() {
    let going = with(
        slice_v6("web-6", &[]),
        "/metadata/deletionTimestamp",
        json!("2026-01-02T03:04:05Z"),
    );
    let mut harness = Harness::begin();
    harness
        .put(dual_stack_service())
        .put(placeholder("web-4"))
        .put(with(going, "/ports", json!(null)));
    harness.rejected(&[("I5 Service ns/web (IPv6)", "found {}")]);
}
