//! Tests of port comparison and validation.

use std::hash::{BuildHasher as _, RandomState};

use serde_json::{Value, json};

use super::*;

fn key(ports: Value) -> PortMapKey {
    let ports: Option<Vec<EndpointPort>> = serde_json::from_value(ports).unwrap();
    PortMapKey::from_k8s(ports.as_deref())
}

/// The API server returns empty lists as `null` (T-CUT-53, T-MIR-80, T-HASH-03, trap 23).
#[test]
fn no_list_equals_an_empty_list() {
    assert_eq!(key(Value::Null), key(json!([])));
}

/// A key sorts its ports (R73, R72, G-26).
#[test]
fn order_of_ports_does_not_matter() {
    let (http, https) = (
        json!({"name": "http", "port": 80}),
        json!({"name": "https", "port": 443}),
    );
    assert_eq!(key(json!([http, https])), key(json!([https, http])));
    assert_eq!(key(json!([https, http])).ports()[0].port, Some(80));
}

/// Upstream rewrites such a slice on every sync (G7).
#[test]
fn absent_fields_equal_explicit_defaults() {
    let explicit = json!([{"name": "", "protocol": "TCP", "port": 80}]);
    assert_eq!(key(json!([{"port": 80}])), key(explicit));
}

#[test]
fn every_field_is_compared() {
    let base = key(json!([{"name": "a", "port": 80}]));
    for other in [
        json!([]),
        json!([{"name": "b", "port": 80}]),
        json!([{"name": "a", "port": 81}]),
        json!([{"name": "a"}]),
        json!([{"name": "a", "port": 80, "protocol": "UDP"}]),
        json!([{"name": "a", "port": 80, "appProtocol": ""}]),
        json!([{"name": "a", "port": 80}, {"name": "a", "port": 80}]),
    ] {
        assert_ne!(key(other.clone()), base, "{other}");
    }
}

/// The API server rejects slices with such ports (F25, R143, R145).
#[test]
fn ports_are_validated_like_the_api_server_does() {
    let numbered = |count: i32| (0..count).map(|n| json!({"name": format!("p{n}"), "port": n}));
    for (ports, expected) in [
        (json!([]), ""),
        (
            json!([{"port": 0}, {"name": "a", "protocol": "SCTP", "appProtocol": "example.com/a"}]),
            "",
        ),
        (numbered(20_000).collect(), ""),
        (numbered(20_001).collect(), "20001 ports exceed the limit of 20000"),
        (
            json!([{"name": "a", "port": 1}, {"name": "b"}, {"name": "a", "port": 2}]),
            "two ports have the name \"a\"",
        ),
        (
            json!([{"port": 1}, {"name": "", "port": 2}]),
            "two ports have the name \"\"",
        ),
        (json!([{"name": "A"}]), "the port name \"A\" is not a DNS label"),
        (
            json!([{"protocol": "tcp"}]),
            "the protocol \"tcp\" is none of TCP, UDP, SCTP",
        ),
        (
            json!([{"appProtocol": ""}]),
            "the application protocol \"\" is not a qualified name",
        ),
    ] {
        let error = key(ports).validate().err();
        assert_eq!(error.map(|error| error.to_string()).unwrap_or_default(), expected);
    }
}

/// Keys are compared and hashed by value (M66, T-CUT-51…52, T-MIR-81…82, T-HASH-01…02).
#[test]
fn key_equals_only_keys_of_equal_ports() {
    let http = json!({"name": "http", "protocol": "TCP", "port": 17, "appProtocol": "http"});
    let samples = [
        json!([]),
        json!([{}]),
        json!([{"name": "http"}]),
        json!([{"port": 17}]),
        json!([{"port": 22}]),
        json!([{"port": -1}]),
        json!([{"protocol": "UDP"}]),
        json!([{"appProtocol": ""}]),
        json!([{"appProtocol": "http"}]),
        json!([http]),
        json!([http, http]),
        json!([http, {"port": 17}]),
        json!([http, {"port": 22}]),
    ];
    for _ in 0..100 {
        let hasher = RandomState::new();
        for (first, sample) in samples.iter().enumerate() {
            for (second, other) in samples.iter().enumerate() {
                let (one, two) = (key(sample.clone()), key(other.clone()));
                assert_eq!(one == two, first == second, "{sample} {other}");
                assert!(one != two || hasher.hash_one(&one) == hasher.hash_one(&two), "{sample}");
            }
        }
    }
}

/// A named target port is looked up in regular containers, then in sidecars, by name and protocol (R69).
#[test]
fn service_port_is_resolved_for_the_ports_of_a_pod() {
    let ports = |name: &str, ports: Value| json!({"name": name, "ports": ports});
    let mut sidecar = ports(
        "sidecar",
        json!([{"name": "http", "containerPort": 1}, {"name": "admin", "containerPort": 15000}]),
    );
    sidecar["restartPolicy"] = json!("Always");
    let spec = json!({
        "containers": [ports("app", json!([
            {"name": "http", "containerPort": 53, "protocol": "UDP"}, {"name": "http", "containerPort": 8080},
        ]))],
        "initContainers": [ports("setup", json!([{"name": "setup", "containerPort": 2}])), sidecar],
    });
    let spec: PodSpec = serde_json::from_value(spec).unwrap();
    let pod_ports: Vec<_> = container_ports(&spec).cloned().collect();
    let read = |port: Value| Port::for_service_port(&serde_json::from_value(port).unwrap(), &pod_ports);
    for (port, expected) in [
        (json!({"port": 80, "targetPort": 8081}), Some(Port::tcp("", 8081))),
        (json!({"port": 53, "protocol": "UDP"}), Some(Port::udp("", 53))),
        (
            json!({"name": "web", "port": 80, "targetPort": "http"}),
            Some(Port::tcp("web", 8080)),
        ),
        (
            json!({"port": 80, "targetPort": "http", "protocol": "UDP"}),
            Some(Port::udp("", 53)),
        ),
        (json!({"port": 80, "targetPort": "admin"}), Some(Port::tcp("", 15000))),
        (json!({"port": 80, "targetPort": "setup"}), None),
        (json!({"port": 80, "targetPort": "http", "protocol": "SCTP"}), None),
    ] {
        assert_eq!(read(port.clone()), expected, "{port}");
    }
}

#[test]
fn port_round_trips_through_the_compact_form() {
    let port = json!({"name": "a", "protocol": "UDP", "port": 53, "appProtocol": "dns"});
    let stored: EndpointPort = serde_json::from_value(port).unwrap();
    let port = serde_json::to_value(Port::from(&stored)).unwrap();
    assert_eq!(port, serde_json::to_value(&stored).unwrap());
}
