//! Final state of mirrored Endpoints (I1, I2).

use serde_json::{Value, json};

use crate::fixtures::{endpoints, mirrored, service, service_without_selector, with};
use crate::harness::Harness;

const ADDRESSES: [&str; 2] = ["10.0.0.1", "10.0.0.2"];

/// An Endpoints object with two ready addresses and a not ready one, and a correct slice.
pub(crate) fn valid() -> Harness {
    let mut harness = Harness::new();
    harness
        .put(service_without_selector())
        .put(endpoints(&ADDRESSES, &["10.0.0.3"]))
        .put(mirrored("web-m", &ADDRESSES, &["10.0.0.3"]));
    harness
}

fn endpoints_with(pointer: &str, value: Value) -> Harness {
    let mut harness = valid();
    harness.put(with(endpoints(&ADDRESSES, &["10.0.0.3"]), pointer, value));
    harness
}

#[test]
fn valid_histories_have_no_violations() {
    valid().assert_no_violations();
    // Endpoints without a Service are not mirrored (M5).
    Harness::new().put(endpoints(&ADDRESSES, &[])).assert_no_violations();
    // Endpoints of a Service with a selector are not mirrored (M6, S6).
    Harness::new()
        .put(with(service(), "/spec/type", json!("ExternalName")))
        .put(endpoints(&ADDRESSES, &[]))
        .assert_no_violations();
    // An empty selector counts as no selector (M8).
    let empty = with(service(), "/spec/selector", json!({}));
    let mut harness = Harness::new();
    harness
        .put(empty)
        .put(endpoints(&ADDRESSES, &[]))
        .put(mirrored("web-m", &ADDRESSES, &[]))
        .assert_no_violations();
    // At most the maximum is mirrored, ready addresses first (M69).
    let mut harness = Harness::new();
    harness
        .put(service_without_selector())
        .put(endpoints(&["10.0.0.1", "10.0.0.9"], &["10.0.0.3", "10.0.0.4"]));
    harness
        .put(mirrored("web-m", &["10.0.0.1", "10.0.0.9"], &["10.0.0.3"]))
        .assert_no_violations();
    // No addresses, no slice (M106).
    let mut harness = valid();
    harness
        .put(endpoints(&[], &[]))
        .delete(&mirrored("web-m", &[], &[]))
        .assert_no_violations();
}

/// Two ports with the same name cannot be in one slice (D3).
#[test]
fn ports_with_the_same_name_are_in_separate_slices() {
    let ports = json!([{"name": "x", "port": 80, "protocol": "TCP"}, {"name": "x", "port": 81, "protocol": "TCP"}]);
    let at = |name: &str, index: usize| with(mirrored(name, &["10.0.0.1"], &[]), "/ports", json!([ports[index]]));
    let mut harness = Harness::new();
    harness
        .put(service_without_selector())
        .put(with(endpoints(&["10.0.0.1"], &[]), "/subsets/0/ports", ports.clone()));
    harness.put(at("web-m", 0));
    harness.assert_violations(&[("I1", "one slice with the ports [\"x\" 80/TCP, \"x\" 81/TCP]")]);
    harness.put(at("web-n", 1)).assert_no_violations();
}

#[test]
fn i1_missing_address() {
    let mut harness = valid();
    harness.put(endpoints(&["10.0.0.1", "10.0.0.2", "10.0.0.4"], &[]));
    harness.assert_violations(&[
        ("I2", "10.0.0.3 with no endpoint; found an endpoint"),
        ("I1", "10.0.0.4 in exactly one endpoint; found 0"),
    ]);
}

#[test]
fn i1_missing_slice() {
    let mut harness = Harness::new();
    harness.put(service_without_selector()).put(endpoints(&ADDRESSES, &[]));
    harness.assert_violations(&[(
        "I1 Endpoints ns/web (IPv4)",
        "one slice with the ports [\"http\" 8080/TCP]; found []",
    )]);
}

#[test]
fn i1_missing_address_type() {
    let mut harness = valid();
    let both = json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]);
    harness.put(with(endpoints(&[], &["10.0.0.2"]), "/subsets/0/addresses", both));
    harness.put(mirrored("web-m", &["10.0.0.1"], &["10.0.0.2"]));
    harness.assert_violations(&[("I1 Endpoints ns/web (IPv6)", "found []")]);
}

/// All addresses of a subset are in one slice (M74).
#[test]
fn i1_addresses_split_over_two_slices() {
    let mut harness = Harness::new();
    harness.put(service_without_selector()).put(endpoints(&ADDRESSES, &[]));
    harness
        .put(mirrored("web-m", &ADDRESSES[..1], &[]))
        .put(mirrored("web-n", &ADDRESSES[1..], &[]));
    harness.assert_violations(&[
        ("I1", "found [\"ns/web-m\", \"ns/web-n\"]"),
        ("I1", "10.0.0.2 in exactly one endpoint; found 0"),
        ("I1", "10.0.0.1 in exactly one endpoint; found 0"),
    ]);
}

/// Ports with the same addresses are in the same slice, and so are addresses without ports (M52, M74).
#[test]
fn i1_ports_split_over_two_slices() {
    let ports = json!([{"name": "x", "port": 80, "protocol": "TCP"}, {"name": "y", "port": 81, "protocol": "TCP"}]);
    let at = |name: &str, index: usize| with(mirrored(name, &["10.0.0.1"], &[]), "/ports", json!([ports[index]]));
    let mut harness = Harness::new();
    harness
        .put(service_without_selector())
        .put(with(endpoints(&["10.0.0.1"], &[]), "/subsets/0/ports", ports.clone()));
    harness.put(at("web-m", 0)).put(at("web-n", 1));
    harness.assert_violations(&[(
        "I1",
        "one slice with the ports [\"x\" 80/TCP, \"y\" 81/TCP]; found [\"ns/web-m\", \"ns/web-n\"]",
    )]);

    let without = |object: Value, pointer: &str| with(object, pointer, Value::Null);
    let mut harness = Harness::new();
    harness
        .put(service_without_selector())
        .put(without(endpoints(&["10.0.0.1"], &[]), "/subsets/0/ports"))
        .put(without(mirrored("web-m", &["10.0.0.1"], &[]), "/ports"))
        .assert_no_violations();
    harness.put(without(mirrored("web-n", &["10.0.0.1"], &[]), "/ports"));
    harness.assert_violations(&[("I1", "one slice with the ports []; found [\"ns/web-m\", \"ns/web-n\"]")]);
}

#[test]
fn i2_stale_readiness() {
    let mut harness = valid();
    harness.put(endpoints(&["10.0.0.1", "10.0.0.2", "10.0.0.3"], &[]));
    harness.assert_violations(&[(
        "I2",
        r#"10.0.0.3 with conditions {"ready":true}; found conditions {"ready":false}"#,
    )]);
}

/// A slice without a service-name label is ignored (M23).
#[test]
fn a_slice_without_service_name_is_ignored() {
    let label = "/metadata/labels/kubernetes.io~1service-name";
    let unlabelled = with(mirrored("web-x", &["10.0.0.9"], &[]), label, json!(""));
    let mut harness = valid();
    harness
        .put(unlabelled.clone())
        .record_manual_write(&unlabelled)
        .assert_no_violations();
}

/// Slices of Endpoints that are no longer eligible are violations (M2, M3, M6).
#[test]
fn i2_slice_of_endpoints_that_are_not_mirrored() {
    let left = [("I2 EndpointSlice ns/web-m", "no mirrored slice")];
    endpoints_with(
        "/metadata/labels",
        json!({"endpointslice.kubernetes.io/skip-mirror": "true"}),
    )
    .assert_violations(&left);
    endpoints_with(
        "/metadata/annotations",
        json!({"control-plane.alpha.kubernetes.io/leader": ""}),
    )
    .assert_violations(&left);
    let mut harness = valid();
    harness
        .put(with(service(), "/spec/type", json!("ExternalName")))
        .assert_violations(&left);
    let mut harness = valid();
    harness.delete(&service_without_selector()).assert_violations(&left);
}

/// Hostname, node name and target reference are copied (M62).
#[test]
fn i2_address_fields_are_copied() {
    let address = json!({"ip": "10.0.0.1", "hostname": "db-0", "nodeName": "node-a",
        "targetRef": {"kind": "Pod", "name": "db-0", "uid": "x", "resourceVersion": "1"}});
    let mut harness = Harness::new();
    harness
        .put(service_without_selector())
        .put(with(endpoints(&["10.0.0.1"], &[]), "/subsets/0/addresses/0", address));
    let mut slice = mirrored("web-m", &["10.0.0.1"], &[]);
    slice["endpoints"][0]["hostname"] = json!("db-0");
    slice["endpoints"][0]["nodeName"] = json!("node-a");
    slice["endpoints"][0]["targetRef"] = json!({"kind": "Pod", "name": "db-0", "uid": "x", "resourceVersion": "1"});
    harness.put(slice.clone()).assert_no_violations();
    harness.put(with(slice, "/endpoints/0/zone", json!("zone-a")));
    harness.assert_violations(&[("I6", ""), ("I2", r#"no zone; found zone "zone-a""#)]);
}
