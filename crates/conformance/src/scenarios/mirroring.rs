//! Endpoints objects and their mirror images.

use serde_json::{Value, json};

use crate::scenario::{
    Aspect::{Slices, Writes},
    Scenario, apply, delete, delete_slices, edit_slices, endpoints, mirrored, node, pod, service, with,
};

/// A Service without a selector.
fn selectorless() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
        "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]},
    })
}

fn begun(name: &'static str, rules: &'static [&'static str], object: &Value) -> Scenario {
    Scenario::new(name, rules).then([apply(&selectorless()), apply(object)])
}

fn db() -> Value {
    endpoints("db", &["10.4.0.1", "10.4.0.2"], 80)
}

fn subsets(subsets: Value) -> Value {
    with(&db(), "/subsets", subsets)
}

#[expect(clippy::too_many_lines, reason = "a list")]
pub(super) fn all() -> Vec<Scenario> {
    let port = |name: &str, number: u16| json!([{"name": name, "port": number, "protocol": "TCP"}]);
    let address = |ip: &str| json!([{"ip": ip}]);
    vec![
        begun(
            "an-object-is-mirrored",
            &["M4", "M7", "M12", "T-INT-09", "T-MIR-INT-02"],
            &db(),
        )
        .shows([mirrored(&json!({}))])
        .then([apply(&endpoints("db", &["10.4.0.1", "10.4.0.9"], 80))]),
        Scenario::new("endpoints-before-the-service", &["S1", "M15"])
            .then([apply(&db())])
            .then([apply(&selectorless())]),
        Scenario::new("endpoints-without-a-service", &["M5", "T-INT-13", "T-MIR-INT-06"])
            .then([apply(&db())])
            .shows([]),
        begun(
            "not-ready-is-mirrored",
            &["M62"],
            &subsets(
                json!([{"addresses": address("10.4.0.1"), "notReadyAddresses": address("10.4.0.2"), "ports": port("http", 80)}]),
            ),
        ),
        begun(
            "two-subsets-one-address",
            &["M52", "T-INT-10", "T-MIR-INT-03"],
            &subsets(json!([
                {"addresses": address("10.4.0.1"), "ports": port("a", 80)},
                {"addresses": address("10.4.0.1"), "ports": port("b", 81)},
            ])),
        )
        .shows([mirrored(
            &json!({"endpoints": [{}], "ports": [{"port": 80}, {"port": 81}]}),
        )]),
        begun(
            "two-subsets-two-addresses",
            &["M65", "T-INT-11", "T-MIR-INT-04"],
            &subsets(json!([
                {"addresses": address("10.4.0.1"), "ports": port("a", 80)},
                {"addresses": address("10.4.0.2"), "ports": port("b", 81)},
            ])),
        )
        .shows([
            mirrored(&json!({"endpoints": [{}], "ports": [{"port": 80}]})),
            mirrored(&json!({"endpoints": [{}], "ports": [{"port": 81}]})),
        ]),
        begun(
            "both-families",
            &["S14"],
            &subsets(json!([{"addresses": [{"ip": "10.4.0.1"}, {"ip": "fd00:4::1"}], "ports": port("http", 80)}])),
        ),
        begun("without-subsets", &["S15"], &db()).then([apply(&subsets(json!([])))]),
        begun("other-ports", &["S13", "M78", "M96"], &db()).then([apply(&endpoints(
            "db",
            &["10.4.0.1", "10.4.0.2"],
            81,
        ))]),
        begun(
            "labels-and-annotations",
            &["M89", "M90"],
            &with(
                &with(&db(), "/metadata/labels", json!({"a": "b"})),
                "/metadata/annotations",
                json!({"c": "d"}),
            ),
        )
        .then([apply(&with(&db(), "/metadata/labels", json!({"new": "label"})))]),
        begun(
            "skip-mirror",
            &["M2", "S8"],
            &with(
                &db(),
                "/metadata/labels",
                json!({"endpointslice.kubernetes.io/skip-mirror": "true"}),
            ),
        )
        .then([apply(&db())])
        .then([apply(&with(
            &db(),
            "/metadata/labels",
            json!({"endpointslice.kubernetes.io/skip-mirror": "true"}),
        ))]),
        begun(
            "a-lock",
            &["M3"],
            &with(
                &db(),
                "/metadata/annotations",
                json!({"control-plane.alpha.kubernetes.io/leader": ""}),
            ),
        ),
        begun("the-object-goes", &["S3"], &db()).then([delete("Endpoints", "db")]),
        begun("the-mirrored-service-goes", &["S5"], &db()).then([delete("Service", "db")]),
        begun("the-object-comes-back", &["S4", "I7"], &db()).then([delete("Endpoints", "db"), apply(&db())]),
        begun("a-selector-comes", &["S6", "M16"], &db()).then([
            apply(&node("a-selector-comes-n1", "")),
            apply(&pod("a", "db", "a-selector-comes-n1", &["10.4.1.1"])),
            apply(&with(&selectorless(), "/spec/selector", json!({"app": "db"}))),
        ]),
        begun("a-mirror-image-is-deleted", &["S9", "M21"], &db()).then([delete_slices("db")]),
        begun("a-mirror-image-is-edited", &["S10", "M20", "M26"], &db())
            .then([edit_slices("db", json!({"endpoints": []}))])
            .then([edit_slices("db", json!({"metadata": {"labels": {"foreign": "label"}}}))]),
        begun(
            "a-mirror-image-is-given-to-another-service",
            &["M19", "M22", "D2"],
            &db(),
        )
        .then([edit_slices(
            "db",
            json!({"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}),
        )])
        .unlike("D2", &[Slices, Writes])
        .shows([mirrored(
            &json!({"metadata": {"labels": {"kubernetes.io/service-name": "db"}}}),
        )]),
        begun("a-mirror-image-loses-its-service", &["M23", "D2"], &db())
            .then([edit_slices(
                "db",
                json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
            )])
            .unlike("D2", &[Slices, Writes])
            .shows([
                mirrored(&json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}})),
                mirrored(&json!({"metadata": {"labels": {"kubernetes.io/service-name": "db"}}})),
            ]),
        begun(
            "a-slice-of-names-among-mirror-images",
            &["M1", "M18", "M36", "M68"],
            &db(),
        )
        .then([apply(&json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "by-hand", "labels": {
                "kubernetes.io/service-name": "db",
                "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
            }},
            "addressType": "FQDN", "endpoints": [{"addresses": ["example.com"]}], "ports": [],
        }))])
        .shows([mirrored(&json!({"addressType": "IPv4"}))]),
        begun("another-family", &["M67", "M97"], &db())
            .then([apply(&endpoints("db", &["fd00:4::1", "fd00:4::2"], 80))])
            .shows([mirrored(&json!({"addressType": "IPv6"}))]),
        begun("mirrored-while-the-namespace-goes", &["S12", "M102"], &db())
            .then([delete("Namespace", "mirrored-while-the-namespace-goes")])
            .then([apply(&endpoints("db", &["10.4.0.1", "fd00:4::1"], 80))])
            .unlike("D13", &[Slices, Writes]),
        begun("a-mirror-image-is-given-away", &["S11", "M20", "D2"], &db())
            .then([edit_slices(
                "db",
                json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "other"}}}),
            )])
            .unlike("D2", &[Slices, Writes]),
        begun(
            "two-ports-of-one-name",
            &["D3"],
            &subsets(json!([
                {"addresses": address("10.4.0.1"), "ports": [{"port": 80, "protocol": "TCP"}]},
                {"addresses": address("10.4.0.1"), "ports": [{"port": 81, "protocol": "TCP"}]},
            ])),
        )
        .unlike("D3", &[Slices, Writes]),
        begun("an-external-name-is-mirrored", &["M9"], &db()).then([apply(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
            "spec": {"type": "ExternalName", "externalName": "example.com"},
        }))]),
        begun(
            "pod-references",
            &["M62"],
            &subsets(json!([{
                "addresses": [{"ip": "10.4.0.1", "hostname": "a", "nodeName": "n", "targetRef": {"kind": "Pod", "name": "a", "namespace": "x"}}],
                "ports": port("http", 80),
            }])),
        ),
        Scenario::new("selector-driven-endpoints-are-not", &["M6"]).then([apply(&service("db")), apply(&db())]),
    ]
}
