//! Limits of every written slice (I3).

use serde_json::json;

use crate::fixtures::{endpoint_of, placeholder, pod, pod_a, pod_b, slice, with};
use crate::services::valid;

#[test]
fn i3_too_many_endpoints_in_one_revision() {
    let (c, d) = (pod("c", "node-a", 3), pod("d", "node-b", 4));
    let mut harness = valid();
    harness.put(c.clone()).put(d.clone());
    harness.put(slice(
        "web-1",
        &[
            endpoint_of(&pod_a()),
            endpoint_of(&pod_b()),
            endpoint_of(&c),
            endpoint_of(&d),
        ],
    ));
    harness.put(slice("web-2", &[endpoint_of(&d)])).put(slice(
        "web-1",
        &[endpoint_of(&pod_a()), endpoint_of(&pod_b()), endpoint_of(&c)],
    ));
    harness.assert_violations(&[("I3 EndpointSlice ns/web-1 at 112", "at most 3 endpoints; found 4")]);
}

#[test]
fn i3_addresses_of_two_types() {
    let mut harness = valid();
    harness.put(with(pod_a(), "/status/podIPs", json!([{"ip": "10.0.0.7"}])));
    let mixed = with(endpoint_of(&pod_a()), "/addresses", json!(["10.0.0.7", "fd00::1"]));
    harness.put(slice("web-1", &[mixed, endpoint_of(&pod_b())]));
    harness.assert_violations(&[
        (
            "I3",
            r#"addresses of one type, IPv4 or IPv6; found type IPv4 with ["fd00::1"]"#,
        ),
        ("I2", r#"addresses ["10.0.0.7"]"#),
    ]);
}

#[test]
fn i3_unknown_address_type() {
    let mut harness = valid();
    harness.put(with(placeholder("web-2"), "/addressType", json!("FQDN")));
    harness.assert_violations(&[("I3", "type FQDN"), ("I2", "one of the type FQDN")]);
}

#[test]
fn i3_duplicate_port_names() {
    let mut harness = valid();
    let twice = json!([{"port": 8080, "protocol": "TCP"}, {"name": "", "port": 8081, "protocol": "TCP"}]);
    let invalid = with(slice("web-2", &[]), "/ports", twice);
    harness.put(invalid.clone()).delete(&invalid);
    harness.assert_violations(&[
        ("I3", r#"unique port names; found ["", ""]"#),
        ("I6", "a write without a change since"),
    ]);
}
