//! I3: the form of every slice that is written.

use serde_json::json;

use crate::fixtures::{placeholder, pod, pod_a, pod_b, shown, slice, with};
use crate::services::good;

#[test]
fn i3_a_slice_is_too_full_for_a_moment() {
    let (c, d) = (pod("c", "node-a", 3), pod("d", "node-b", 4));
    let mut harness = good();
    harness.put(c.clone()).put(d.clone());
    harness.put(slice(
        "web-1",
        &[shown(&pod_a()), shown(&pod_b()), shown(&c), shown(&d)],
    ));
    harness
        .put(slice("web-2", &[shown(&d)]))
        .put(slice("web-1", &[shown(&pod_a()), shown(&pod_b()), shown(&c)]));
    harness.rejected(&[("I3 EndpointSlice ns/web-1 at 112", "at most 3 endpoints; found 4")]);
}

#[test]
fn i3_a_slice_has_addresses_of_two_types() {
    let mut harness = good();
    harness.put(with(pod_a(), "/status/podIPs", json!([{"ip": "10.0.0.7"}])));
    let mixed = with(shown(&pod_a()), "/addresses", json!(["10.0.0.7", "fd00::1"]));
    harness.put(slice("web-1", &[mixed, shown(&pod_b())]));
    harness.rejected(&[
        (
            "I3",
            r#"addresses of one type, IPv4 or IPv6; found the type IPv4 with ["fd00::1"]"#,
        ),
        ("I2", r#"addresses ["10.0.0.7"]"#),
    ]);
}

#[test]
fn i3_a_slice_has_no_known_address_type() {
    let mut harness = good();
    harness.put(with(placeholder("web-2"), "/addressType", json!("FQDN")));
    harness.rejected(&[("I3", "the type FQDN"), ("I2", "one of the type FQDN")]);
}

#[test]
fn i3_two_ports_have_one_name() {
    let mut harness = good();
    let twice = json!([{"port": 8080, "protocol": "TCP"}, {"name": "", "port": 8081, "protocol": "TCP"}]);
    let spoiled = with(slice("web-2", &[]), "/ports", twice);
    harness.put(spoiled.clone()).delete(&spoiled);
    harness.rejected(&[
        ("I3", r#"unique port names; found ["", ""]"#),
        ("I6", "nothing has changed since"),
    ]);
}
