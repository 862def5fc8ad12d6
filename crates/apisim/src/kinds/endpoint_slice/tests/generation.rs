use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::slice;
use crate::kinds::{
    ClusterIps,
    fixtures::{create, object, update},
};

/// Changes of endpoints, ports and labels increment the generation (R140).
#[test]
fn t_api_07_to_09_generation() {
    let stored = json!({
        "metadata": { "name": "web-abc", "namespace": "ns", "generation": 7 },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.2.3"], "hints": { "forZones": [] } }],
        "ports": [{ "port": 80 }],
    });
    let old: EndpointSlice = create(stored, &mut ClusterIps::default()).unwrap();
    assert_eq!(old.metadata.generation, Some(1));
    let cases = [
        ("T-API-07", json!({}), 1),
        ("T-API-08", json!({ "endpoints": [{ "addresses": ["10.1.2.4"] }] }), 2),
        ("T-API-09", json!({ "metadata": { "labels": { "a": "b" } } }), 2),
        ("ports", json!({ "ports": [{ "port": 81 }] }), 2),
        ("no endpoints", json!({ "endpoints": [] }), 2),
        ("annotations", json!({ "metadata": { "annotations": { "a": "b" } } }), 1),
        ("finalizers", json!({ "metadata": { "finalizers": ["a/b"] } }), 1),
        ("empty labels", json!({ "metadata": { "labels": {} } }), 1),
        (
            "generation of the client",
            json!({ "metadata": { "generation": 5 } }),
            1,
        ),
        (
            "explicit defaults",
            json!({
                "endpoints": [{ "addresses": ["10.1.2.3"], "hints": {}, "conditions": {}, "deprecatedTopology": {} }],
                "ports": [{ "name": "", "protocol": "TCP", "port": 80 }],
            }),
            1,
        ),
    ];
    for (id, patch, generation) in cases {
        let mut new = serde_json::to_value(&old).unwrap();
        json_patch::merge(&mut new, &patch);
        let stored = update(&old, object(new), &mut ClusterIps::default()).unwrap();
        assert_eq!(stored.metadata.generation, Some(generation), "{id}");
    }
}

#[test]
fn r145_r148_defaults() {
    let filled = slice(&json!({
        "metadata": { "labels": {} },
        "ports": [{ "port": 80 }],
        "endpoints": [{ "addresses": ["10.1.2.3"], "hints": { "forNodes": [] } }],
    }));
    let expected = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": { "name": "web-abc", "namespace": "ns" },
        "addressType": "IPv4",
        "ports": [{ "name": "", "port": 80, "protocol": "TCP" }],
        "endpoints": [{ "addresses": ["10.1.2.3"], "conditions": {}, "hints": {} }],
    });
    assert_eq!(serde_json::to_value(&filled).unwrap(), expected);
    let empty = slice(&json!({ "ports": [], "endpoints": [] }));
    assert_eq!((empty.ports, empty.endpoints), (None, None));
}

#[test]
fn t_api_01_and_04_hints_are_kept() {
    let hints = json!({ "forNodes": [{ "name": "node-1" }], "forZones": [{ "name": "zone-a" }] });
    let body = |endpoint: Value| {
        json!({
            "metadata": { "name": "web-abc", "namespace": "ns" },
            "addressType": "IPv4",
            "endpoints": [endpoint],
        })
    };
    let ips = &mut ClusterIps::default();
    let plain: EndpointSlice = create(body(json!({ "addresses": ["10.1.2.3"] })), ips).unwrap();
    let hinted = body(json!({ "addresses": ["10.1.2.3"], "hints": hints }));
    let created: EndpointSlice = create(hinted.clone(), ips).unwrap();
    let updated = update(&plain, object(hinted), ips).unwrap();
    for stored in [created, updated] {
        let endpoints = serde_json::to_value(stored.endpoints).unwrap();
        assert_eq!(endpoints[0]["hints"], hints);
    }
}
