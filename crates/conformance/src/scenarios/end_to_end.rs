//! What upstream's end-to-end tests play, as far as the API goes: nobody connects, since there is neither a kubelet nor a
//! proxy.

use serde_json::{Value, json};

use crate::scenario::{Scenario, apply, delete, delete_slices, endpoints, mirrored, node, of_pods, pod, service, with};

/// A Service whose pods are published from the start.
fn at_once(name: &str, selector: Value, ports: Value) -> Value {
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
    let one = at_once(
        "one",
        json!({"pod1": "true"}),
        json!([{"name": "example", "port": 80, "protocol": "TCP", "targetPort": 3000}]),
    );
    let both = at_once(
        "both",
        json!({"shared12": "true"}),
        json!([{"name": "named", "port": 80, "protocol": "TCP", "targetPort": "example-name"}]),
    );
    let slice = |service: &str, port: u16, pod: &str, ip: &str| {
        of_pods(&json!({
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
        .shows(all.clone())
        .then([delete_slices("both")])
        .shows(all)
}

/// A slice that somebody else makes for a Service.
fn by_hand(name: &str, ip: &str, port: u16) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "e2e-test.k8s.io",
        }},
        "addressType": "IPv4", "endpoints": [{"addresses": [ip]}],
        "ports": [{"name": format!("port{port}"), "port": port, "protocol": "TCP"}],
    })
}

/// Slices of others for a Service without a selector, which nobody touches.
fn foreign(name: &'static str, rules: &'static [&'static str], slices: [Value; 2]) -> Scenario {
    let ports = json!([
        {"name": "port8090", "port": 80, "protocol": "TCP"}, {"name": "port9090", "port": 81, "protocol": "TCP"},
    ]);
    let service = with(&service("web"), "/spec/ports", ports);
    let unselecting = with(&service, "/spec/selector", Value::Null);
    Scenario::new(name, rules)
        .then([apply(&unselecting), apply(&slices[0]), apply(&slices[1])])
        .shows(slices.clone())
        .then([apply(&with(&unselecting, "/metadata/labels", json!({"some": "label"})))])
        .shows(slices)
}

/// An Endpoints object of which every state is mirrored.
fn custom_endpoints() -> [Scenario; 2] {
    let name = "example-custom-endpoints";
    let unselecting = with(&service(name), "/spec/selector", Value::Null);
    let one = |ip: &str| mirrored(&json!({"ports": [{"port": 80}], "endpoints": [{"addresses": [ip]}]}));
    let port = |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": port});
    let two_ports = with(
        &unselecting,
        "/spec/ports",
        json!([port("port80", 80), port("port81", 81)]),
    );
    let subset =
        |name: &str, port: u16| json!({"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": name, "port": port}]});
    let two_subsets = json!([subset("port80", 8090), subset("port81", 9090)]);
    [
        Scenario::new("custom-endpoints", &["T-MIR-E2E-01", "S2", "S3", "M81"])
            .then([apply(&unselecting), apply(&endpoints(name, &["10.1.2.3"], 80))])
            .shows([one("10.1.2.3")])
            .then([apply(&endpoints(name, &["10.2.3.4"], 80))])
            .shows([one("10.2.3.4")])
            .then([delete("Endpoints", name)])
            .shows([]),
        Scenario::new("custom-endpoints-with-two-subsets", &["T-MIR-E2E-02", "S17"])
            .then([
                apply(&two_ports),
                apply(&with(&endpoints(name, &[], 80), "/subsets", two_subsets)),
            ])
            .shows([mirrored(&json!({
                "ports": [{"name": "port80", "port": 8090}, {"name": "port81", "port": 9090}],
                "endpoints": [{"addresses": ["10.1.2.3"]}],
            }))])
            .then([delete("Endpoints", name)])
            .shows([]),
    ]
}

pub(super) fn all() -> Vec<Scenario> {
    let nobody = with(
        &service("web"),
        "/spec/selector",
        json!({"does-not-match-anything": "endpoints"}),
    );
    let mut scenarios = vec![
        Scenario::new("a-selector-that-matches-nothing", &["T-E2E-01", "R88", "R92"])
            .then([apply(&nobody)])
            .shows([of_pods(&json!({"endpoints": null, "ports": null}))])
            .then([delete("Service", "web")])
            .shows([]),
        shared_pods(),
        foreign(
            "slices-of-others-with-one-address",
            &["T-E2E-04", "I7", "R50"],
            [by_hand("a", "10.7.0.1", 8090), by_hand("b", "10.7.0.1", 9090)],
        ),
        foreign(
            "slices-of-others-with-two-addresses",
            &["T-E2E-05", "I7", "R50"],
            [by_hand("a", "10.7.0.1", 8090), by_hand("b", "10.7.0.2", 9090)],
        ),
    ];
    scenarios.extend(custom_endpoints());
    scenarios
}
