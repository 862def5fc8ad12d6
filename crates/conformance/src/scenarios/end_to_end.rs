//! Upstream's end-to-end tests, without traffic: there is neither a kubelet nor a proxy.

use serde_json::{Value, json};

use crate::scenario::{
    Scenario, apply, delete, delete_slices, endpoints, mirrored_slice, node, pod, pod_slice, service, with,
};

/// A Service that publishes pods that are not ready.
fn publishing_not_ready(name: &str, selector: Value, ports: Value) -> Value {
    let service = with(&service(name), "/spec/selector", selector);
    let service = with(&service, "/spec/publishNotReadyAddresses", json!(true));
    with(&service, "/spec/ports", ports)
}

/// Two pods, two Services, three groups of ports.
fn shared_pods() -> Scenario {
    let name = "two-services-share-pods";
    let labelled = |pod: &Value, own: &str, ports: Value| {
        let pod = with(pod, "/metadata/labels", json!({own: "true", "shared12": "true"}));
        with(
            &pod,
            "/spec/containers",
            json!([{"name": "main", "image": "image", "ports": ports}]),
        )
    };
    let node_name = "two-services-share-pods-n1";
    let pods = [
        labelled(
            &pod("pod1", "", node_name, &["10.5.0.1"]),
            "pod1",
            json!([{"name": "example-name", "containerPort": 3000}]),
        ),
        labelled(
            &pod("pod2", "", node_name, &["10.5.0.2"]),
            "pod2",
            json!([{"name": "example-name", "containerPort": 3001}, {"name": "other-port", "containerPort": 3002}]),
        ),
    ];
    let one = publishing_not_ready(
        "one",
        json!({"pod1": "true"}),
        json!([{"name": "example", "port": 80, "protocol": "TCP", "targetPort": 3000}]),
    );
    let both = publishing_not_ready(
        "both",
        json!({"shared12": "true"}),
        json!([{"name": "named", "port": 80, "protocol": "TCP", "targetPort": "example-name"}]),
    );
    let slice = |service: &str, port: u16, pod: &str, ip: &str| {
        pod_slice(&json!({
            "metadata": {"labels": {"kubernetes.io/service-name": service}},
            "ports": [{"port": port}],
            "endpoints": [{"addresses": [ip], "targetRef": {"kind": "Pod", "name": pod}}],
        }))
    };
    let all = [
        slice("one", 3000, "pod1", "10.5.0.1"),
        slice("both", 3000, "pod1", "10.5.0.1"),
        slice("both", 3001, "pod2", "10.5.0.2"),
    ];
    Scenario::new(name, &["T-E2E-02", "R69", "R75", "R62"])
        .then([
            apply(&node(node_name, "")),
            apply(&one),
            apply(&both),
            apply(&pods[0]),
            apply(&pods[1]),
        ])
        .expect_slices(all.clone())
        .then([delete_slices("both")])
        .expect_slices(all)
}

/// A slice of another manager for a Service.
fn foreign_slice(name: &str, ip: &str, port: u16) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "e2e-test.k8s.io",
        }},
        "addressType": "IPv4", "endpoints": [{"addresses": [ip]}],
        "ports": [{"name": format!("port{port}"), "port": port, "protocol": "TCP"}],
    })
}

/// Slices of another manager for a Service without a selector stay unchanged.
fn foreign_slices(name: &'static str, rules: &'static [&'static str], slices: [Value; 2]) -> Scenario {
    let ports = json!([
        {"name": "port8090", "port": 80, "protocol": "TCP"}, {"name": "port9090", "port": 81, "protocol": "TCP"},
    ]);
    let service = with(&service("web"), "/spec/ports", ports);
    let selectorless = with(&service, "/spec/selector", Value::Null);
    Scenario::new(name, rules)
        .then([apply(&selectorless), apply(&slices[0]), apply(&slices[1])])
        .expect_slices(slices.clone())
        .then([apply(&with(
            &selectorless,
            "/metadata/labels",
            json!({"some": "label"}),
        ))])
        .expect_slices(slices)
}

/// An Endpoints object that is created, changed and deleted.
fn custom_endpoints() -> [Scenario; 2] {
    let name = "example-custom-endpoints";
    let selectorless = with(&service(name), "/spec/selector", Value::Null);
    let one = |ip: &str| mirrored_slice(&json!({"ports": [{"port": 80}], "endpoints": [{"addresses": [ip]}]}));
    let port = |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": port});
    let two_ports = with(
        &selectorless,
        "/spec/ports",
        json!([port("port80", 80), port("port81", 81)]),
    );
    let subset =
        |name: &str, port: u16| json!({"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": name, "port": port}]});
    let two_subsets = json!([subset("port80", 8090), subset("port81", 9090)]);
    [
        Scenario::new("custom-endpoints", &["T-MIR-E2E-01", "S2", "S3", "M81"])
            .then([apply(&selectorless), apply(&endpoints(name, &["10.1.2.3"], 80))])
            .expect_slices([one("10.1.2.3")])
            .then([apply(&endpoints(name, &["10.2.3.4"], 80))])
            .expect_slices([one("10.2.3.4")])
            .then([delete("Endpoints", name)])
            .expect_slices([]),
        Scenario::new("custom-endpoints-with-two-subsets", &["T-MIR-E2E-02", "S17"])
            .then([
                apply(&two_ports),
                apply(&with(&endpoints(name, &[], 80), "/subsets", two_subsets)),
            ])
            .expect_slices([mirrored_slice(&json!({
                "ports": [{"name": "port80", "port": 8090}, {"name": "port81", "port": 9090}],
                "endpoints": [{"addresses": ["10.1.2.3"]}],
            }))])
            .then([delete("Endpoints", name)])
            .expect_slices([]),
    ]
}

pub(super) fn all() -> Vec<Scenario> {
    let no_match = with(
        &service("web"),
        "/spec/selector",
        json!({"does-not-match-anything": "endpoints"}),
    );
    let mut scenarios = vec![
        Scenario::new("a-selector-that-matches-nothing", &["T-E2E-01", "R88", "R92"])
            .then([apply(&no_match)])
            .expect_slices([pod_slice(&json!({"endpoints": null, "ports": null}))])
            .then([delete("Service", "web")])
            .expect_slices([]),
        shared_pods(),
        foreign_slices(
            "foreign-slices-with-one-address",
            &["T-E2E-04", "I7", "R50"],
            [
                foreign_slice("a", "10.7.0.1", 8090),
                foreign_slice("b", "10.7.0.1", 9090),
            ],
        ),
        foreign_slices(
            "foreign-slices-with-two-addresses",
            &["T-E2E-05", "I7", "R50"],
            [
                foreign_slice("a", "10.7.0.1", 8090),
                foreign_slice("b", "10.7.0.2", 9090),
            ],
        ),
    ];
    scenarios.extend(custom_endpoints());
    scenarios
}
