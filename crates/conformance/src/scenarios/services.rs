//! Services that come, change and go.

use serde_json::{Value, json};
use slice_core::well_known::HEADLESS_LABEL;

use crate::scenario::{Scenario, apply, delete, node, of_pods, pod, service, with};

/// A Service with a dual-stack pod.
fn begun(name: &'static str, rules: &'static [&'static str], service: &Value) -> Scenario {
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

/// A pod of both families that does not say whether it is ready.
fn dual_stack(name: &'static str, rules: &'static [&'static str], of: &[&str]) -> Scenario {
    let node_name = format!("{name}-n1");
    let pod = pod("a", "web", &node_name, &["1.1.1.1", "2001:db2::65"]);
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "")),
        apply(&families(of)),
        apply(&with(&pod, "/status/conditions", json!([]))),
    ])
}

/// A slice with the label for headless Services, or without.
fn marked_headless(is: bool) -> Value {
    of_pods(&json!({"metadata": {"labels": {HEADLESS_LABEL: is.then_some("")}}}))
}

/// A finalizer holds the Service: what is there follows its pods, and nothing comes.
fn on_its_way_out() -> Scenario {
    let held = with(
        &families(&["IPv4"]),
        "/metadata/finalizers",
        json!(["example.com/hold"]),
    );
    let held_with_both = with(
        &families(&["IPv4", "IPv6"]),
        "/metadata/finalizers",
        json!(["example.com/hold"]),
    );
    let name = "a-service-that-is-being-deleted";
    begun(name, &["R52", "R107"], &held)
        .then([delete("Service", "web")])
        .then([apply(&pod(
            "b",
            "web",
            "a-service-that-is-being-deleted-n1",
            &["10.1.0.2"],
        ))])
        .shows([json!({"endpoints": [{}, {}]})])
        .then([apply(&held_with_both)])
        .shows([json!({"addressType": "IPv4"})])
}

#[expect(clippy::too_many_lines, reason = "a list")]
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
    let v4 = of_pods(&json!({"addressType": "IPv4", "endpoints": [{"addresses": ["1.1.1.1"]}]}));
    let v6 = of_pods(&json!({"addressType": "IPv6", "endpoints": [{"addresses": ["2001:db2::65"]}]}));
    vec![
        dual_stack("ipv4", &["R60", "T-INT-22"], &["IPv4"]).shows([v4.clone()]),
        dual_stack("ipv6", &["R60", "T-INT-23"], &["IPv6"]).shows([v6.clone()]),
        dual_stack("ipv6-and-ipv4", &["R60", "T-INT-24"], &["IPv6", "IPv4"]).shows([v4.clone(), v6.clone()]),
        dual_stack("ipv4-and-ipv6", &["R60", "T-INT-25"], &["IPv4", "IPv6"]).shows([v4, v6]),
        begun("one-family-more", &["R54"], &families(&["IPv4"])).then([apply(&families(&["IPv4", "IPv6"]))]),
        begun("one-family-less", &["R54", "G-13"], &families(&["IPv4", "IPv6"])).then([apply(&families(&["IPv4"]))]),
        begun("no-pods", &["R88", "T-CTL-07"], &with(&service("web"), "/spec/selector", json!({"app": "nobody"}))),
        begun("no-pods-in-two-families", &["R88"], &with(&families(&["IPv4", "IPv6"]), "/spec/selector", json!({"app": "nobody"}))),
        begun("not-headless", &["R110", "T-INT-02"], &service("web")).shows([marked_headless(false)]),
        begun("headless", &["R110", "T-INT-03"], &headless(&service("web"))).shows([marked_headless(true)]),
        begun("headless-without-ports", &["R70", "136502"], &with(&headless(&service("web")), "/spec/ports", json!([])))
            .then([apply(&pod("b", "web", "headless-without-ports-n1", &["10.1.0.2"]))]),
        begun("a-headless-label-of-its-own", &["R110", "T-INT-04"], &with(&service("web"), "/metadata/labels", own_label.clone()))
            .shows([marked_headless(false)]),
        begun("headless-with-the-label", &["R110", "T-INT-05"], &with(&headless(&service("web")), "/metadata/labels", own_label))
            .shows([marked_headless(true)]),
        begun("labels-are-copied", &["R110", "T-INT-01"], &with(&headless(&service("web")), "/metadata/labels", json!({"app": "test"})))
            .shows([of_pods(&json!({"metadata": {"labels": {"app": "test", "new-label": null, HEADLESS_LABEL: ""}}}))])
            .then([apply(&with(&headless(&service("web")), "/metadata/labels", json!({"new-label": "test"})))])
            .shows([of_pods(&json!({"metadata": {"labels": {"app": null, "new-label": "test", HEADLESS_LABEL: ""}}}))]),
        begun("reserved-labels-are-not", &["R110"], &with(&service("web"), "/metadata/labels", json!({"kubernetes.io/service-name": "x", "endpointslice.kubernetes.io/managed-by": "y"}))),
        begun("annotations-are-not", &["R110"], &with(&service("web"), "/metadata/annotations", json!({"some": "annotation"}))),
        begun("no-selector", &["R50", "T-CTL-01"], &with(&service("web"), "/spec/selector", Value::Null)),
        begun("an-external-name", &["R50", "T-CTL-02"], &json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"type": "ExternalName", "externalName": "example.com", "selector": {"app": "web"}},
        })),
        begun("the-selector-changes", &["R55"], &service("web"))
            .then([apply(&with(&service("web"), "/spec/selector", json!({"app": "other"})))])
            .then([apply(&service("web"))]),
        begun("the-selector-goes", &["R50", "S7"], &service("web")).then([apply(&with(&service("web"), "/spec/selector", Value::Null))]),
        begun("the-service-goes", &["R50"], &service("web")).then([delete("Service", "web")]),
        on_its_way_out(),
        begun("while-the-namespace-goes", &["R107"], &families(&["IPv4"]))
            .then([delete("Namespace", "while-the-namespace-goes")])
            .then([apply(&families(&["IPv4", "IPv6"]))])
            .shows([json!({"addressType": "IPv4"})])
            .then([delete("Pod", "a")]),
        begun("the-service-comes-back", &["F23", "141592"], &service("web"))
            .then([delete("Service", "web"), apply(&service("web"))]),
        begun("another-target-port", &["R68", "R72", "R104"], &service("web"))
            .then([apply(&ports(json!([{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 9090}])))]),
        begun("another-port-that-nobody-sees", &["R68"], &service("web"))
            .then([apply(&ports(json!([{"name": "http", "port": 81, "protocol": "TCP", "targetPort": 8080}])))]),
        begun("one-port-more", &["R72"], &service("web")).then([apply(&ports(json!([
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080},
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353, "appProtocol": "dns"},
        ])))]),
        begun("three-protocols", &["R72", "T-CTL-13"], &ports(json!([
            {"name": "tcp-example", "port": 80, "protocol": "TCP"},
            {"name": "udp-example", "port": 161, "protocol": "UDP"},
            {"name": "sctp-example", "port": 3456, "protocol": "SCTP"},
        ]))),
        begun("an-application-protocol", &["R72"], &ports(json!([
            {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080, "appProtocol": "kubernetes.io/h2c"},
        ]))),
        begun("a-named-port", &["R69", "R70"], &named)
            .then([with_port("a-named-port", "b", "10.1.0.2", 8080), with_port("a-named-port", "c", "10.1.0.3", 9090)])
            .then([delete("Pod", "b")]),
        begun("a-sidecar-port", &["R69"], &named).then([apply(&with(
            &pod("b", "web", "a-sidecar-port-n1", &["10.1.0.2"]),
            "/spec/initContainers",
            json!([{"name": "side", "image": "image", "restartPolicy": "Always", "ports": [{"name": "web", "containerPort": 7070}]}]),
        ))]),
        begun("an-unnamed-port", &["R68"], &ports(json!([{"port": 80, "protocol": "TCP", "targetPort": 8080}]))),
        begun("pod-families-differ", &["R60"], &families(&["IPv4", "IPv6"])).then([
            apply(&pod("b", "web", "pod-families-differ-n1", &["10.1.0.2"])),
            apply(&pod("c", "web", "pod-families-differ-n1", &["fd00:1::3"])),
        ]),
    ]
}
