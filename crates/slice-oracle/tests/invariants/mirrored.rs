//! I1 and I2 for mirrored Endpoints.

use serde_json::{Value, json};

use crate::fixtures::{bare_service, endpoints, mirrored, service, with};
use crate::harness::Harness;

const ADDRESSES: [&str; 2] = ["10.0.0.1", "10.0.0.2"];

/// Endpoints with two ready addresses and one that is not, mirrored as they should be.
pub(crate) fn good() -> Harness {
    let mut harness = Harness::begin();
    harness
        .put(bare_service())
        .put(endpoints(&ADDRESSES, &["10.0.0.3"]))
        .put(mirrored("web-m", &ADDRESSES, &["10.0.0.3"]));
    harness
}

fn endpoints_with(pointer: &str, value: Value) -> Harness {
    let mut harness = good();
    harness.put(with(endpoints(&ADDRESSES, &["10.0.0.3"]), pointer, value));
    harness
}

#[test]
fn good_histories_are_accepted() {
    good().accepted();
    // M5: nothing is mirrored without a Service.
    Harness::begin().put(endpoints(&ADDRESSES, &[])).accepted();
    // M6, S6: what has a selector is not mirrored.
    Harness::begin()
        .put(with(service(), "/spec/type", json!("ExternalName")))
        .put(endpoints(&ADDRESSES, &[]))
        .accepted();
    // M8: an empty selector is none.
    let empty = with(service(), "/spec/selector", json!({}));
    let mut harness = Harness::begin();
    harness
        .put(empty)
        .put(endpoints(&ADDRESSES, &[]))
        .put(mirrored("web-m", &ADDRESSES, &[]))
        .accepted();
    // M69: no more than the maximum, the ready ones first.
    let mut harness = Harness::begin();
    harness
        .put(bare_service())
        .put(endpoints(&["10.0.0.1", "10.0.0.9"], &["10.0.0.3", "10.0.0.4"]));
    harness
        .put(mirrored("web-m", &["10.0.0.1", "10.0.0.9"], &["10.0.0.3"]))
        .accepted();
    // M106: no addresses, no slice.
    let mut harness = good();
    harness
        .put(endpoints(&[], &[]))
        .delete(&mirrored("web-m", &[], &[]))
        .accepted();
}

/// D3: two ports of one name cannot be in one slice.
#[test]
fn ports_that_share_a_name_are_in_slices_of_their_own() {
    let ports = json!([{"name": "x", "port": 80, "protocol": "TCP"}, {"name": "x", "port": 81, "protocol": "TCP"}]);
    let at = |name: &str, index: usize| with(mirrored(name, &["10.0.0.1"], &[]), "/ports", json!([ports[index]]));
    let mut harness = Harness::begin();
    harness
        .put(bare_service())
        .put(with(endpoints(&["10.0.0.1"], &[]), "/subsets/0/ports", ports.clone()));
    harness.put(at("web-m", 0));
    harness.rejected(&[("I1", "one slice with the ports [\"x\" 80/TCP, \"x\" 81/TCP]")]);
    harness.put(at("web-n", 1)).accepted();
}

#[test]
fn i1_an_address_is_not_mirrored() {
    let mut harness = good();
    harness.put(endpoints(&["10.0.0.1", "10.0.0.2", "10.0.0.4"], &[]));
    harness.rejected(&[
        ("I2", "10.0.0.3 with nothing; found an endpoint"),
        ("I1", "10.0.0.4 in exactly one endpoint; found 0"),
    ]);
}

#[test]
fn i1_endpoints_are_not_mirrored_at_all() {
    let mut harness = Harness::begin();
    harness.put(bare_service()).put(endpoints(&ADDRESSES, &[]));
    harness.rejected(&[(
        "I1 Endpoints ns/web (IPv4)",
        "one slice with the ports [\"http\" 8080/TCP]; found []",
    )]);
}

#[test]
fn i1_an_address_type_is_not_mirrored() {
    let mut harness = good();
    let both = json!([{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]);
    harness.put(with(endpoints(&[], &["10.0.0.2"]), "/subsets/0/addresses", both));
    harness.put(mirrored("web-m", &["10.0.0.1"], &["10.0.0.2"]));
    harness.rejected(&[("I1 Endpoints ns/web (IPv6)", "found []")]);
}

/// M74.
#[test]
fn i1_addresses_are_spread_over_two_slices() {
    let mut harness = Harness::begin();
    harness.put(bare_service()).put(endpoints(&ADDRESSES, &[]));
    harness
        .put(mirrored("web-m", &ADDRESSES[..1], &[]))
        .put(mirrored("web-n", &ADDRESSES[1..], &[]));
    harness.rejected(&[
        ("I1", "found [\"ns/web-m\", \"ns/web-n\"]"),
        ("I1", "10.0.0.2 in exactly one endpoint; found 0"),
        ("I1", "10.0.0.1 in exactly one endpoint; found 0"),
    ]);
}

/// M52, M74: ports with the same addresses are in the same slice, and so are addresses without ports.
#[test]
fn i1_ports_are_spread_over_two_slices() {
    let ports = json!([{"name": "x", "port": 80, "protocol": "TCP"}, {"name": "y", "port": 81, "protocol": "TCP"}]);
    let at = |name: &str, index: usize| with(mirrored(name, &["10.0.0.1"], &[]), "/ports", json!([ports[index]]));
    let mut harness = Harness::begin();
    harness
        .put(bare_service())
        .put(with(endpoints(&["10.0.0.1"], &[]), "/subsets/0/ports", ports.clone()));
    harness.put(at("web-m", 0)).put(at("web-n", 1));
    harness.rejected(&[(
        "I1",
        "one slice with the ports [\"x\" 80/TCP, \"y\" 81/TCP]; found [\"ns/web-m\", \"ns/web-n\"]",
    )]);

    let without = |object: Value, pointer: &str| with(object, pointer, Value::Null);
    let mut harness = Harness::begin();
    harness
        .put(bare_service())
        .put(without(endpoints(&["10.0.0.1"], &[]), "/subsets/0/ports"))
        .put(without(mirrored("web-m", &["10.0.0.1"], &[]), "/ports"))
        .accepted();
    harness.put(without(mirrored("web-n", &["10.0.0.1"], &[]), "/ports"));
    harness.rejected(&[("I1", "one slice with the ports []; found [\"ns/web-m\", \"ns/web-n\"]")]);
}

#[test]
fn i2_an_address_is_ready_by_now() {
    let mut harness = good();
    harness.put(endpoints(&["10.0.0.1", "10.0.0.2", "10.0.0.3"], &[]));
    harness.rejected(&[(
        "I2",
        r#"10.0.0.3 with conditions {"ready":true}; found conditions {"ready":false}"#,
    )]);
}

/// M23.
#[test]
fn a_slice_that_names_nobody_is_nobodys() {
    let label = "/metadata/labels/kubernetes.io~1service-name";
    let nobodys = with(mirrored("web-x", &["10.0.0.9"], &[]), label, json!(""));
    let mut harness = good();
    harness.put(nobodys.clone()).by_hand(&nobodys).accepted();
}

/// M2, M3, M6.
#[test]
fn i2_what_is_no_longer_mirrored_is_still_there() {
    let left = [("I2 EndpointSlice ns/web-m", "no mirrored slice")];
    endpoints_with(
        "/metadata/labels",
        json!({"endpointslice.kubernetes.io/skip-mirror": "true"}),
    )
    .rejected(&left);
    endpoints_with(
        "/metadata/annotations",
        json!({"control-plane.alpha.kubernetes.io/leader": ""}),
    )
    .rejected(&left);
    let mut harness = good();
    harness
        .put(with(service(), "/spec/type", json!("ExternalName")))
        .rejected(&left);
    let mut harness = good();
    harness.delete(&bare_service()).rejected(&left);
}

/// M62: host names, nodes and targets are copied.
#[test]
fn i2_the_rest_of_an_address_is_copied() {
    let address = json!({"ip": "10.0.0.1", "hostname": "db-0", "nodeName": "node-a",
        "targetRef": {"kind": "Pod", "name": "db-0", "uid": "x", "resourceVersion": "1"}});
    let mut harness = Harness::begin();
    harness
        .put(bare_service())
        .put(with(endpoints(&["10.0.0.1"], &[]), "/subsets/0/addresses/0", address));
    let mut shown = mirrored("web-m", &["10.0.0.1"], &[]);
    shown["endpoints"][0]["hostname"] = json!("db-0");
    shown["endpoints"][0]["nodeName"] = json!("node-a");
    shown["endpoints"][0]["targetRef"] = json!({"kind": "Pod", "name": "db-0", "uid": "x", "resourceVersion": "1"});
    harness.put(shown.clone()).accepted();
    harness.put(with(shown, "/endpoints/0/zone", json!("zone-a")));
    harness.rejected(&[("I6", ""), ("I2", r#"no zone; found zone "zone-a""#)]);
}
