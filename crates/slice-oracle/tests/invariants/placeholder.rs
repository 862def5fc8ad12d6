//! Placeholder slices (I5).

use serde_json::json;

use crate::fixtures::{dual_stack_service, endpoint_of, owned_by, placeholder, pod_a, service, slice, slice_v6, with};
use crate::harness::Harness;

fn placeholder_v6(name: &str) -> serde_json::Value {
    with(placeholder(name), "/addressType", json!("IPv6"))
}

#[test]
fn valid_histories_have_no_violations() {
    Harness::new()
        .put(service())
        .put(placeholder("web-1"))
        .assert_no_violations();
    let mut harness = Harness::new();
    harness
        .put(dual_stack_service())
        .put(placeholder("web-4"))
        .put(placeholder_v6("web-6"))
        .assert_no_violations();
    // Pods of one family only (G-08).
    let v4 = with(pod_a(), "/status/podIPs", json!([{"ip": "10.0.0.1"}]));
    harness
        .put(v4.clone())
        .put(slice("web-4", &[endpoint_of(&v4)]))
        .assert_no_violations();
}

#[test]
fn i5_missing_placeholder() {
    let mut harness = Harness::new();
    harness.put(service());
    harness.assert_violations(&[(
        "I5 Service ns/web (IPv4)",
        "exactly one slice, without endpoints and ports; found {}",
    )]);
}

#[test]
fn i5_missing_placeholder_of_one_address_type() {
    let mut harness = Harness::new();
    harness.put(dual_stack_service()).put(placeholder("web-1"));
    harness.assert_violations(&[("I5 Service ns/web (IPv6)", "found {}")]);
}

#[test]
fn i5_two_placeholders() {
    let mut harness = Harness::new();
    harness
        .put(service())
        .put(placeholder("web-1"))
        .put(placeholder("web-2"));
    harness.assert_violations(&[("I5", r#"found {"ns/web-1", "ns/web-2"}"#)]);
}

/// A placeholder has no ports (R88).
#[test]
fn i5_placeholder_with_ports() {
    let mut harness = Harness::new();
    harness.put(service()).put(slice("web-1", &[]));
    harness.assert_violations(&[("I5", r#"found {"ns/web-1"}"#)]);
}

/// The placeholder of an earlier Service of the same name does not count (W26, G-39).
#[test]
fn i5_placeholder_of_an_earlier_service() {
    let again = with(service(), "/metadata/uid", json!("again"));
    let mut harness = Harness::new();
    harness
        .put(service())
        .put(placeholder("web-1"))
        .delete(&service())
        .put(again);
    harness.assert_violations(&[("I2", "no slice of another owner"), ("I5", "found {}")]);
    harness
        .put(owned_by(placeholder("web-2"), "again"))
        .delete(&placeholder("web-1"))
        .assert_no_violations();
}

/// A terminating slice does not count as a placeholder.
#[test]
fn i5_terminating_slice_is_no_placeholder() {
    let terminating = with(
        slice_v6("web-6", &[]),
        "/metadata/deletionTimestamp",
        json!("2026-01-02T03:04:05Z"),
    );
    let mut harness = Harness::new();
    harness
        .put(dual_stack_service())
        .put(placeholder("web-4"))
        .put(with(terminating, "/ports", json!(null)));
    harness.assert_violations(&[("I5 Service ns/web (IPv6)", "found {}")]);
}
