//! Services that are created, changed and deleted.

use serde_json::{Value, json};
use slice_core::well_known::HEADLESS_LABEL;

use crate::scenario::{Aspect, Scenario, apply, delete, node, pod, pod_slice, service, with};

/// First step: a Service with a dual-stack pod.
fn initial(name: &'static str, rules: &'static [&'static str], service: &Value) -> Scenario {
    let node_name = format!("{name}-n1");
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "zone-a")),
        apply(service),
        apply(&pod("a", "web", &node_name, &["10.1.0.1", "fd00:1::1"])),
    ])
}

fn families(families: &[&str]) -> Value {
    let policy = if families.len() > 1 {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    let service = with(&service("web"), "/spec/ipFamilies", json!(families));
    with(&service, "/spec/ipFamilyPolicy", json!(policy))
}

fn headless(service: &Value) -> Value {
    with(service, "/spec/clusterIP", json!("None"))
}

fn ports(ports: Value) -> Value {
    with(&service("web"), "/spec/ports", ports)
}

fn container_port(name: &str, number: u16) -> Value {
    json!([{"name": "main", "image": "image", "ports": [{"name": name, "containerPort": number, "protocol": "TCP"}]}])
}

/// A dual-stack pod without the condition `Ready`, and a Service of these families.
fn dual_stack(name: &'static str, rules: &'static [&'static str], ip_families: &[&str]) -> Scenario {
    let node_name = format!("{name}-n1");
    let pod = pod("a", "web", &node_name, &["1.1.1.1", "2001:db2::65"]);
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "")),
        apply(&families(ip_families)),
        apply(&with(&pod, "/status/conditions", json!([]))),
    ])
}

/// Pattern of a slice with or without the label for headless Services.
fn with_headless_label(headless: bool) -> Value {
    pod_slice(&json!({"metadata": {"labels": {HEADLESS_LABEL: headless.then_some("")}}}))
}

/// A terminating Service with a finalizer: existing slices are updated, new ones are not created.
fn terminating_service() -> Scenario {
    let service = with(
        &families(&["IPv4"]),
        "/metadata/finalizers",
        json!(["example.com/hold"]),
    );
    let dual_stack_service = with(
        &families(&["IPv4", "IPv6"]),
        "/metadata/finalizers",
        json!(["example.com/hold"]),
    );
    let name = "a-terminating-service";
    initial(name, &["R52", "R107"], &service)
        .then([delete("Service", "web")])
        .then([apply(&pod("b", "web", "a-terminating-service-n1", &["10.1.0.2"]))])
        .expect_slices([json!({"endpoints": [{}, {}]})])
        .then([apply(&dual_stack_service)])
        .expect_slices([json!({"addressType": "IPv4"})])
}

#[expect(clippy::too_many_lines, reason = "a list of scenarios")]
pub(super) fn all() -> Vec<Scenario> {
    let named = ports(json!([{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "web"}]));
    let with_port = |scenario: &str, pod_name: &str, ip: &str, number: u16| {
        apply(&with(
            &pod(pod_name, "web", &format!("{scenario}-n1"), &[ip]),
            "/spec/containers",
            container_port("web", number),
        ))
    };
    let own_label = json!({HEADLESS_LABEL: "yes"});
    let v4 = pod_slice(&json!({"addressType": "IPv4", "endpoints": [{"addresses": ["1.1.1.1"]}]}));
    let v6 = pod_slice(&json!({"addressType": "IPv6", "endpoints": [{"addresses": ["2001:db2::65"]}]}));
    vec![
        dual_stack("ipv4", &["R60", "T-INT-22"], &["IPv4"]).expect_slices([v4.clone()]),
        dual_stack("ipv6", &["R60", "T-INT-23"], &["IPv6"]).expect_slices([v6.clone()]),
        dual_stack("ipv6-and-ipv4", &["R60", "T-INT-24"], &["IPv6", "IPv4"]).expect_slices([v4.clone(), v6.clone()]),
        dual_stack("ipv4-and-ipv6", &["R60", "T-INT-25"], &["IPv4", "IPv6"]).expect_slices([v4, v6]),
        initial("one-family-more", &["R54"], &families(&["IPv4"])).then([apply(&families(&["IPv4", "IPv6"]))]),
        initial("one-family-less", &["R54", "G-13"], &families(&["IPv4", "IPv6"])).then([apply(&families(&["IPv4"]))]),
        initial("no-pods", &["R88", "T-CTL-07"], &with(&service("web"), "/spec/selector", json!({"app": "no-pods"}))),
        initial("no-pods-in-two-families", &["R88"], &with(&families(&["IPv4", "IPv6"]), "/spec/selector", json!({"app": "no-pods"}))),
        initial("not-headless", &["R110", "T-INT-02"], &service("web")).expect_slices([with_headless_label(false)]),
        initial("headless", &["R110", "T-INT-03"], &headless(&service("web"))).expect_slices([with_headless_label(true)]),
        initial("headless-without-ports", &["R70", "136502"], &with(&headless(&service("web")), "/spec/ports", json!([])))
            .then([apply(&pod("b", "web", "headless-without-ports-n1", &["10.1.0.2"]))]),
        initial("a-headless-label-of-its-own", &["R110", "T-INT-04"], &with(&service("web"), "/metadata/labels", own_label.clone()))
            .expect_slices([with_headless_label(false)]),
        initial("headless-with-the-label", &["R110", "T-INT-05"], &with(&headless(&service("web")), "/metadata/labels", own_label))
            .expect_slices([with_headless_label(true)]),
        initial("labels-are-copied", &["R110", "T-INT-01"], &with(&headless(&service("web")), "/metadata/labels", json!({"app": "test"})))
            .expect_slices([pod_slice(&json!({"metadata": {"labels": {"app": "test", "new-label": null, HEADLESS_LABEL: ""}}}))])
            .then([apply(&with(&headless(&service("web")), "/metadata/labels", json!({"new-label": "test"})))])
            .expect_slices([pod_slice(&json!({"metadata": {"labels": {"app": null, "new-label": "test", HEADLESS_LABEL: ""}}}))]),
        initial("reserved-labels-are-not", &["R110"], &with(&service("web"), "/metadata/labels", json!({"kubernetes.io/service-name": "x", "endpointslice.kubernetes.io/managed-by": "y"}))),
        initial("annotations-are-not", &["R110"], &with(&service("web"), "/metadata/annotations", json!({"some": "annotation"}))),
        initial("no-selector", &["R50", "T-CTL-01"], &with(&service("web"), "/spec/selector", Value::Null)),
        initial("an-external-name", &["R50", "T-CTL-02"], &json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"type": "ExternalName", "externalName": "example.com", "selector": {"app": "web"}},
        })),
        initial("the-selector-changes", &["R55"], &service("web"))
            .then([apply(&with(&service("web"), "/spec/selector", json!({"app": "other"})))])
            .then([apply(&service("web"))]),
        initial("the-selector-is-removed", &["R50", "S7"], &service("web")).then([apply(&with(&service("web"), "/spec/selector", Value::Null))]),
        initial("the-service-is-deleted", &["R50"], &service("web")).then([delete("Service", "web")]),
        terminating_service(),
        initial("while-the-namespace-is-deleted", &["R107"], &families(&["IPv4"]))
            .then([delete("Namespace", "while-the-namespace-is-deleted")])
            .then([apply(&families(&["IPv4", "IPv6"]))])
            .expect_slices([json!({"addressType": "IPv4"})])
            .then([delete("Pod", "a")]),
        initial("the-service-is-recreated", &["F23", "141592"], &service("web"))
            .then([delete("Service", "web"), apply(&service("web"))])
            // The garbage collector deletes the slices of the first Service too, and may be faster than upstream.
            .allow_deviation("W11", &[Aspect::Events]),
        initial("another-target-port", &["R68", "R72", "R104"], &service("web"))
            .then([apply(&ports(json!([{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 9090}])))]),
        initial("another-service-port", &["R68"], &service("web"))
            .then([apply(&ports(json!([{"name": "http", "port": 81, "protocol": "TCP", "targetPort": 8080}])))]),
        initial("one-port-more", &["R72"], &service("web")).then([apply(&ports(json!([
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080},
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353, "appProtocol": "dns"},
        ])))]),
        initial("three-protocols", &["R72", "T-CTL-13"], &ports(json!([
            {"name": "tcp-example", "port": 80, "protocol": "TCP"},
            {"name": "udp-example", "port": 161, "protocol": "UDP"},
            {"name": "sctp-example", "port": 3456, "protocol": "SCTP"},
        ]))),
        initial("an-application-protocol", &["R72"], &ports(json!([
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080, "appProtocol": "kubernetes.io/h2c"},
        ]))),
        initial("a-named-port", &["R69", "R70"], &named)
            .then([with_port("a-named-port", "b", "10.1.0.2", 8080), with_port("a-named-port", "c", "10.1.0.3", 9090)])
            .then([delete("Pod", "b")]),
        initial("a-sidecar-port", &["R69"], &named).then([apply(&with(
            &pod("b", "web", "a-sidecar-port-n1", &["10.1.0.2"]),
            "/spec/initContainers",
            json!([{"name": "side", "image": "image", "restartPolicy": "Always", "ports": [{"name": "web", "containerPort": 7070}]}]),
        ))]),
        initial("an-unnamed-port", &["R68"], &ports(json!([{"port": 80, "protocol": "TCP", "targetPort": 8080}]))),
        initial("pod-families-differ", &["R60"], &families(&["IPv4", "IPv6"])).then([
            apply(&pod("b", "web", "pod-families-differ-n1", &["10.1.0.2"])),
            apply(&pod("c", "web", "pod-families-differ-n1", &["fd00:1::3"])),
        ]),
    ]
}
