//! Final state of Services with a selector (I1, I2).

use serde_json::{Value, json};

use crate::fixtures::{
    endpoint_of, node, owned_by, placeholder, pod, pod_a, pod_b, service, slice, slice_v6, text, unready,
    unready_endpoint_of, with,
};
use crate::harness::Harness;

/// A Service with two ready pods and a correct slice.
pub(crate) fn valid() -> Harness {
    let mut harness = Harness::new();
    harness
        .put(service())
        .put(placeholder("web-1"))
        .put(pod_a())
        .put(slice("web-1", &[endpoint_of(&pod_a())]))
        .put(pod_b())
        .put(slice("web-1", &[endpoint_of(&pod_a()), endpoint_of(&pod_b())]));
    harness
}

/// A valid history, then a change of the Service and these slices.
fn service_with(pointer: &str, value: Value, slices: &[Value]) -> Harness {
    let mut harness = valid();
    harness.put(with(service(), pointer, value));
    for slice in slices {
        harness.put(slice.clone());
    }
    harness
}

/// A valid history, then a change of pod `a` and its new endpoint.
fn pod_with(pod: Value, endpoint: Value) -> Harness {
    let mut harness = valid();
    harness.put(pod).put(slice("web-1", &[endpoint, endpoint_of(&pod_b())]));
    harness
}

fn slice_with_a(endpoint: Value) -> Value {
    slice("web-1", &[endpoint, endpoint_of(&pod_b())])
}

#[test]
fn valid_histories_have_no_violations() {
    valid().assert_no_violations();
    let a = pod_a();
    // A terminating pod is published as not ready (R59).
    let terminating = with(a.clone(), "/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z"));
    let conditions = json!({"ready": false, "serving": true, "terminating": true});
    pod_with(terminating, with(endpoint_of(&a), "/conditions", conditions)).assert_no_violations();
    pod_with(unready(a.clone()), unready_endpoint_of(&a)).assert_no_violations();
    let mut early = service_with("/spec/publishNotReadyAddresses", json!(true), &[]);
    let conditions = json!({"ready": true, "serving": false, "terminating": false});
    early
        .put(unready(a.clone()))
        .put(slice_with_a(with(endpoint_of(&a), "/conditions", conditions)));
    early.assert_no_violations();
    // A pod whose subdomain is the Service has a hostname (R64).
    let named = with(
        with(a.clone(), "/spec/hostname", json!("first")),
        "/spec/subdomain",
        json!("web"),
    );
    pod_with(named, with(endpoint_of(&a), "/hostname", json!("first"))).assert_no_violations();
    // Pods in a terminal phase, on unknown nodes or with other labels are not published (R57, W10, R20).
    for pod in [
        with(a.clone(), "/status/phase", json!("Succeeded")),
        with(a.clone(), "/spec/nodeName", json!("node-x")),
        with(a.clone(), "/metadata/labels/app", json!("other")),
        with(a.clone(), "/status/podIPs", json!([])),
        with(
            a.clone(),
            "/status/podIPs",
            json!([{"ip": "garbage"}, {"ip": "169.254.0.1"}]),
        ),
    ] {
        let mut harness = valid();
        harness.put(pod).put(slice("web-1", &[endpoint_of(&pod_b())]));
        harness.assert_no_violations();
    }
    // The slices of a Service without a selector are not checked (R50).
    service_with("/spec/selector", Value::Null, &[]).assert_no_violations();
    service_with("/spec/type", json!("ExternalName"), &[]).assert_no_violations();
}

/// Named target ports are resolved per pod (R69, R70).
#[test]
fn named_target_ports_are_resolved_per_pod() {
    let ports = |number: i32| json!([{"name": "web", "containerPort": number, "protocol": "TCP"}]);
    let a = with(pod_a(), "/spec/containers/0/ports", ports(81));
    let sidecar = json!([{"name": "side", "restartPolicy": "Always", "ports": ports(82)}]);
    let b = with(pod_b(), "/spec/initContainers", sidecar);
    let c = pod("c", "node-a", 3);
    let mut harness = Harness::new();
    harness.put(with(service(), "/spec/ports/0/targetPort", json!("web")));
    for pod in [&a, &b, &c] {
        harness.put(pod.clone());
    }
    let of = |name: &str, pod: &Value, port: i32| with(slice(name, &[endpoint_of(pod)]), "/ports/0/port", json!(port));
    harness.put(of("web-1", &a, 81)).put(of("web-2", &b, 82));
    let without_ports = with(placeholder("web-3"), "/endpoints", json!([endpoint_of(&c)]));
    harness.put(without_ports).assert_no_violations();
    harness.put(unready(c.clone())).put(with(
        slice("web-3", &[unready_endpoint_of(&c)]),
        "/ports/0/port",
        json!(81),
    ));
    harness.assert_violations(&[(
        "I1",
        "pod c (10.0.0.3) with the ports []; found the ports [\"http\" 81/TCP]",
    )]);
}

#[test]
fn i1_missing_endpoint() {
    let mut harness = valid();
    harness.put(pod("c", "node-a", 3));
    harness.assert_violations(&[(
        "I1",
        "Service ns/web (IPv4) at 110: expected pod c (10.0.0.3) in exactly one endpoint; found 0",
    )]);
}

#[test]
fn i1_duplicate_endpoint() {
    let mut harness = valid();
    harness.put(slice("web-2", &[endpoint_of(&pod_a())]));
    harness.assert_violations(&[("I1", "pod a (10.0.0.1) in exactly one endpoint; found 2")]);
}

#[test]
fn i1_stale_port() {
    let harness = service_with("/spec/ports/0/targetPort", json!(9090), &[]);
    harness.assert_violations(&[("I1", "9090/TCP"), ("I1", "9090/TCP")]);
}

#[test]
fn i2_endpoint_of_a_deleted_pod() {
    let mut harness = valid();
    harness.delete(&pod_a());
    harness.assert_violations(&[("I2", "only desired endpoints; found one for a (10.0.0.1)")]);
}

#[test]
fn i2_stale_endpoint_fields() {
    let a = pod_a();
    let terminating = with(a.clone(), "/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z"));
    let named = with(
        with(a.clone(), "/spec/hostname", json!("first")),
        "/spec/subdomain",
        json!("web"),
    );
    for (pod, part) in [
        (terminating, r#""terminating":true"#),
        (unready(a.clone()), r#""ready":false,"serving":false"#),
        (named, r#"hostname "first"; found no hostname"#),
        (
            with(a.clone(), "/spec/nodeName", json!("node-b")),
            r#"nodeName "node-b", zone "zone-b"; found nodeName "node-a""#,
        ),
        (
            with(a.clone(), "/status/podIPs", json!([{"ip": "10.0.0.9"}])),
            r#"addresses ["10.0.0.9"]"#,
        ),
    ] {
        let mut harness = valid();
        harness.put(pod);
        harness.assert_violations(&[("I2 EndpointSlice ns/web-1", part)]);
    }
}

/// The endpoint zone follows the node label (G-23).
#[test]
fn i2_stale_zone_after_a_node_change() {
    let mut harness = valid();
    harness.put(node("node-a", "zone-z"));
    harness.assert_violations(&[("I2", r#"zone "zone-z"; found zone "zone-a""#)]);
}

#[test]
fn i2_slice_with_another_owner_or_address_type() {
    let mut harness = valid();
    harness.put(owned_by(placeholder("web-0"), "Service-web"));
    let old = with(service(), "/metadata/uid", json!("new"));
    harness.delete(&service()).put(old);
    harness.assert_violations(&[
        ("I2", "web-0 at 110: expected no slice of another owner"),
        ("I2", "web-1 at 109: expected no slice of another owner"),
        ("I1", "pod a"),
        ("I1", "pod b"),
    ]);

    let mut harness = valid();
    harness.put(slice_v6("web-6", &[]));
    harness.assert_violations(&[("I2", "found one of the type IPv6")]);
}

/// Labels of the Service are copied to its slices (R110).
#[test]
fn i2_stale_labels() {
    service_with("/metadata/labels", json!({"team": "x"}), &[])
        .assert_violations(&[("I2", r#"{"team": "x"}; found {}"#)]);
    let labelled = with(slice_with_a(endpoint_of(&pod_a())), "/metadata/labels/team", json!("x"));
    service_with("/metadata/labels", json!({"team": "x"}), &[labelled]).assert_no_violations();
}

/// Hints of `PreferSameZone`, `PreferClose` and `PreferSameNode` (H57, H58).
#[test]
fn hints_follow_traffic_distribution() {
    let (a, b) = (pod_a(), pod_b());
    let hinted = |pod: &Value, node: bool| {
        let name = text(pod, "/spec/nodeName");
        let zones = json!([{"name": name.replace("node", "zone")}]);
        let hints = if node {
            json!({"forZones": zones, "forNodes": [{"name": name}]})
        } else {
            json!({"forZones": zones})
        };
        with(endpoint_of(pod), "/hints", hints)
    };
    let zones = || slice("web-1", &[hinted(&a, false), hinted(&b, false)]);
    let nodes = || slice("web-1", &[hinted(&a, true), hinted(&b, true)]);
    let distribution = |value: &str, slices: &[Value]| service_with("/spec/trafficDistribution", json!(value), slices);
    distribution("PreferSameZone", &[zones()]).assert_no_violations();
    distribution("PreferClose", &[zones()]).assert_no_violations();
    distribution("PreferSameNode", &[nodes()]).assert_no_violations();
    let mut unready_too = distribution("PreferSameZone", &[zones()]);
    unready_too
        .put(unready(a.clone()))
        .put(slice("web-1", &[unready_endpoint_of(&a), hinted(&b, false)]));
    unready_too.assert_no_violations();

    let missing = ("I2", r#"hints {"forZones":[{"name":"zone-"#);
    distribution("PreferSameZone", &[]).assert_violations(&[missing, missing]);
    distribution("PreferSameZone", &[nodes()]).assert_violations(&[missing, missing]);
    distribution("PreferSameNode", &[zones()]).assert_violations(&[("I2", "forNodes"), ("I2", "forNodes")]);
    let none = ("I2", "no hints; found hints");
    service_with("/metadata/annotations", json!({"x": "y"}), &[zones()]).assert_violations(&[none, none]);
}

/// The check verifies that hints are possible, not which ones were chosen (H22–H31, H36).
#[test]
fn hints_under_auto_are_within_bounds() {
    let pods = [pod_a(), pod_b(), pod("c", "node-a", 3), pod("d", "node-b", 4)];
    let hinted = |pod: &Value, zone: &str| with(endpoint_of(pod), "/hints", json!({"forZones": [{"name": zone}]}));
    let auto = |zones: &[&str]| {
        let mut harness = Harness::new();
        let mode = json!({"service.kubernetes.io/topology-mode": "Auto"});
        harness.put(with(service(), "/metadata/annotations", mode));
        let endpoints = pods.iter().zip(zones).map(|(pod, zone)| {
            harness.put(pod.clone());
            if zone.is_empty() {
                endpoint_of(pod)
            } else {
                hinted(pod, zone)
            }
        });
        let endpoints: Vec<_> = endpoints.collect();
        let (first, second) = endpoints.split_at(2);
        harness.put(slice("web-1", first));
        if !second.is_empty() {
            harness.put(slice("web-2", second));
        }
        harness
    };
    auto(&["zone-a", "zone-b", "zone-a", "zone-b"]).assert_no_violations();
    auto(&["zone-b", "zone-b", "zone-a", "zone-a"]).assert_no_violations();
    // Three endpoints in two zones get no hints (H31).
    auto(&["", "", ""]).assert_no_violations();
    auto(&["zone-a", "zone-b", ""]).assert_violations(&[("I2", "without hints"), ("I2", "without hints")]);
    auto(&["zone-a", "zone-b", "zone-a", ""]).assert_violations(&[("I2", "d (10.0.0.4) hinted to one of")]);
    auto(&["zone-a", "zone-b", "zone-a", "zone-x"]).assert_violations(&[
        ("I2", "d (10.0.0.4) hinted to one of"),
        ("I2", "at most 0 endpoints hinted to zone-x"),
    ]);
    auto(&["zone-a", "zone-a", "zone-a", "zone-a"])
        .assert_violations(&[("I2", "at most 3 endpoints hinted to zone-a; found 4")]);
}
