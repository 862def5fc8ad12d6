//! I1 and I2 for Services that select pods.

use serde_json::{Value, json};

use crate::fixtures::{
    node, owned_by, placeholder, pod, pod_a, pod_b, service, shown, shown_unready, slice, slice_v6, text, unready, with,
};
use crate::harness::Harness;

/// A Service with two ready pods, published as they should be.
pub(crate) fn good() -> Harness {
    let mut harness = Harness::begin();
    harness
        .put(service())
        .put(placeholder("web-1"))
        .put(pod_a())
        .put(slice("web-1", &[shown(&pod_a())]))
        .put(pod_b())
        .put(slice("web-1", &[shown(&pod_a()), shown(&pod_b())]));
    harness
}

/// The Service changed so, and these are its slices afterwards.
fn service_with(pointer: &str, value: Value, slices: &[Value]) -> Harness {
    let mut harness = good();
    harness.put(with(service(), pointer, value));
    for slice in slices {
        harness.put(slice.clone());
    }
    harness
}

/// A pod changed, and this is the slice afterwards.
fn pod_with(pod: Value, endpoint: Value) -> Harness {
    let mut harness = good();
    harness.put(pod).put(slice("web-1", &[endpoint, shown(&pod_b())]));
    harness
}

fn slice_with_a(endpoint: Value) -> Value {
    slice("web-1", &[endpoint, shown(&pod_b())])
}

#[test]
fn good_histories_are_accepted() {
    good().accepted();
    let a = pod_a();
    // R59: terminating, and published although not ready.
    let going = with(a.clone(), "/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z"));
    let conditions = json!({"ready": false, "serving": true, "terminating": true});
    pod_with(going, with(shown(&a), "/conditions", conditions)).accepted();
    pod_with(unready(a.clone()), shown_unready(&a)).accepted();
    let mut early = service_with("/spec/publishNotReadyAddresses", json!(true), &[]);
    let conditions = json!({"ready": true, "serving": false, "terminating": false});
    early
        .put(unready(a.clone()))
        .put(slice_with_a(with(shown(&a), "/conditions", conditions)));
    early.accepted();
    // R64: a host name for the subdomain of the Service.
    let named = with(
        with(a.clone(), "/spec/hostname", json!("first")),
        "/spec/subdomain",
        json!("web"),
    );
    pod_with(named, with(shown(&a), "/hostname", json!("first"))).accepted();
    // R57, W10, R20: pods that have ended, are on unknown nodes or bear other labels are not published.
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
        let mut harness = good();
        harness.put(pod).put(slice("web-1", &[shown(&pod_b())]));
        harness.accepted();
    }
    // R50: what selects nothing keeps its slices as they are.
    service_with("/spec/selector", Value::Null, &[]).accepted();
    service_with("/spec/type", json!("ExternalName"), &[]).accepted();
}

/// R69, R70: ports by name, by pod.
#[test]
fn named_ports_are_those_of_each_pod() {
    let ports = |number: i32| json!([{"name": "web", "containerPort": number, "protocol": "TCP"}]);
    let a = with(pod_a(), "/spec/containers/0/ports", ports(81));
    let sidecar = json!([{"name": "side", "restartPolicy": "Always", "ports": ports(82)}]);
    let b = with(pod_b(), "/spec/initContainers", sidecar);
    let c = pod("c", "node-a", 3);
    let mut harness = Harness::begin();
    harness.put(with(service(), "/spec/ports/0/targetPort", json!("web")));
    for pod in [&a, &b, &c] {
        harness.put(pod.clone());
    }
    let of = |name: &str, pod: &Value, port: i32| with(slice(name, &[shown(pod)]), "/ports/0/port", json!(port));
    harness.put(of("web-1", &a, 81)).put(of("web-2", &b, 82));
    let without_ports = with(placeholder("web-3"), "/endpoints", json!([shown(&c)]));
    harness.put(without_ports).accepted();
    harness
        .put(unready(c.clone()))
        .put(with(slice("web-3", &[shown_unready(&c)]), "/ports/0/port", json!(81)));
    harness.rejected(&[(
        "I1",
        "pod c (10.0.0.3) with the ports []; found the ports [\"http\" 81/TCP]",
    )]);
}

#[test]
fn i1_a_pod_is_in_no_endpoint() {
    let mut harness = good();
    harness.put(pod("c", "node-a", 3));
    harness.rejected(&[(
        "I1",
        "Service ns/web (IPv4) at 110: expected pod c (10.0.0.3) in exactly one endpoint; found 0",
    )]);
}

#[test]
fn i1_a_pod_is_in_two_endpoints() {
    let mut harness = good();
    harness.put(slice("web-2", &[shown(&pod_a())]));
    harness.rejected(&[("I1", "pod a (10.0.0.1) in exactly one endpoint; found 2")]);
}

#[test]
fn i1_a_port_is_an_old_one() {
    let harness = service_with("/spec/ports/0/targetPort", json!(9090), &[]);
    harness.rejected(&[("I1", "9090/TCP"), ("I1", "9090/TCP")]);
}

#[test]
fn i2_there_is_an_endpoint_for_a_pod_that_is_gone() {
    let mut harness = good();
    harness.delete(&pod_a());
    harness.rejected(&[("I2", "only endpoints that the pods ask for; found one for a (10.0.0.1)")]);
}

#[test]
fn i2_what_an_endpoint_says_is_old() {
    let a = pod_a();
    let going = with(a.clone(), "/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z"));
    let named = with(
        with(a.clone(), "/spec/hostname", json!("first")),
        "/spec/subdomain",
        json!("web"),
    );
    for (pod, part) in [
        (going, r#""terminating":true"#),
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
        let mut harness = good();
        harness.put(pod);
        harness.rejected(&[("I2 EndpointSlice ns/web-1", part)]);
    }
}

/// G-23.
#[test]
fn i2_the_zone_of_a_node_has_changed() {
    let mut harness = good();
    harness.put(node("node-a", "zone-z"));
    harness.rejected(&[("I2", r#"zone "zone-z"; found zone "zone-a""#)]);
}

#[test]
fn i2_a_slice_has_another_owner_or_address_type() {
    let mut harness = good();
    harness.put(owned_by(placeholder("web-0"), "Service-web"));
    let old = with(service(), "/metadata/uid", json!("new"));
    harness.delete(&service()).put(old);
    harness.rejected(&[
        ("I2", "web-0 at 110: expected no slice of another owner"),
        ("I2", "web-1 at 109: expected no slice of another owner"),
        ("I1", "pod a"),
        ("I1", "pod b"),
    ]);

    let mut harness = good();
    harness.put(slice_v6("web-6", &[]));
    harness.rejected(&[("I2", "found one of the type IPv6")]);
}

/// R110.
#[test]
fn i2_the_labels_of_the_service_are_those_of_its_slices() {
    service_with("/metadata/labels", json!({"team": "x"}), &[]).rejected(&[("I2", r#"{"team": "x"}; found {}"#)]);
    let labelled = with(slice_with_a(shown(&pod_a())), "/metadata/labels/team", json!("x"));
    service_with("/metadata/labels", json!({"team": "x"}), &[labelled]).accepted();
}

/// H57, H58.
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
        with(shown(pod), "/hints", hints)
    };
    let zones = || slice("web-1", &[hinted(&a, false), hinted(&b, false)]);
    let nodes = || slice("web-1", &[hinted(&a, true), hinted(&b, true)]);
    let distribution = |value: &str, slices: &[Value]| service_with("/spec/trafficDistribution", json!(value), slices);
    distribution("PreferSameZone", &[zones()]).accepted();
    distribution("PreferClose", &[zones()]).accepted();
    distribution("PreferSameNode", &[nodes()]).accepted();
    let mut unready_too = distribution("PreferSameZone", &[zones()]);
    unready_too
        .put(unready(a.clone()))
        .put(slice("web-1", &[shown_unready(&a), hinted(&b, false)]));
    unready_too.accepted();

    let missing = ("I2", r#"hints {"forZones":[{"name":"zone-"#);
    distribution("PreferSameZone", &[]).rejected(&[missing, missing]);
    distribution("PreferSameZone", &[nodes()]).rejected(&[missing, missing]);
    distribution("PreferSameNode", &[zones()]).rejected(&[("I2", "forNodes"), ("I2", "forNodes")]);
    let none = ("I2", "no hints; found hints");
    service_with("/metadata/annotations", json!({"x": "y"}), &[zones()]).rejected(&[none, none]);
}

/// H22–H31, H36: not which hints, but whether they can be.
#[test]
fn hints_under_auto_are_within_bounds() {
    let pods = [pod_a(), pod_b(), pod("c", "node-a", 3), pod("d", "node-b", 4)];
    let hinted = |pod: &Value, zone: &str| with(shown(pod), "/hints", json!({"forZones": [{"name": zone}]}));
    let auto = |zones: &[&str]| {
        let mut harness = Harness::begin();
        let mode = json!({"service.kubernetes.io/topology-mode": "Auto"});
        harness.put(with(service(), "/metadata/annotations", mode));
        let shown = pods.iter().zip(zones).map(|(pod, zone)| {
            harness.put(pod.clone());
            if zone.is_empty() { shown(pod) } else { hinted(pod, zone) }
        });
        let shown: Vec<_> = shown.collect();
        let (first, rest) = shown.split_at(2);
        harness.put(slice("web-1", first));
        if !rest.is_empty() {
            harness.put(slice("web-2", rest));
        }
        harness
    };
    auto(&["zone-a", "zone-b", "zone-a", "zone-b"]).accepted();
    auto(&["zone-b", "zone-b", "zone-a", "zone-a"]).accepted();
    // Three endpoints in two zones get none (H31).
    auto(&["", "", ""]).accepted();
    auto(&["zone-a", "zone-b", ""]).rejected(&[("I2", "without hints"), ("I2", "without hints")]);
    auto(&["zone-a", "zone-b", "zone-a", ""]).rejected(&[("I2", "d (10.0.0.4) hinted to one of")]);
    auto(&["zone-a", "zone-b", "zone-a", "zone-x"]).rejected(&[
        ("I2", "d (10.0.0.4) hinted to one of"),
        ("I2", "at most 0 endpoints hinted to zone-x"),
    ]);
    auto(&["zone-a", "zone-a", "zone-a", "zone-a"])
        .rejected(&[("I2", "at most 3 endpoints hinted to zone-a; found 4")]);
}
