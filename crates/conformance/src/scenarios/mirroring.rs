//! Endpoints objects and mirrored slices.

use serde_json::{Value, json};

use crate::scenario::{
    Aspect::{Slices, Writes},
    Scenario, apply, delete, delete_slices, edit_slices, endpoints, mirrored_slice, node, pod, service, with,
};

/// A Service without a selector.
fn selectorless() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
        "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]},
    })
}

/// First step: a Service without a selector, and an Endpoints object.
fn initial(name: &'static str, rules: &'static [&'static str], object: &Value) -> Scenario {
    Scenario::new(name, rules).then([apply(&selectorless()), apply(object)])
}

fn db() -> Value {
    endpoints("db", &["10.4.0.1", "10.4.0.2"], 80)
}

fn subsets(subsets: Value) -> Value {
    with(&db(), "/subsets", subsets)
}

#[expect(clippy::too_many_lines, reason = "a list of scenarios")]
pub(super) fn all() -> Vec<Scenario> {
    let port = |name: &str, number: u16| json!([{"name": name, "port": number, "protocol": "TCP"}]);
    let address = |ip: &str| json!([{"ip": ip}]);
    vec![
        initial(
            "an-endpoints-object-is-mirrored",
            &["M4", "M7", "M12", "T-INT-09", "T-MIR-INT-02"],
            &db(),
        )
        .expect_slices([mirrored_slice(&json!({}))])
        .then([apply(&endpoints("db", &["10.4.0.1", "10.4.0.9"], 80))]),
        Scenario::new("endpoints-before-the-service", &["S1", "M15"])
            .then([apply(&db())])
            .then([apply(&selectorless())]),
        Scenario::new("endpoints-without-a-service", &["M5", "T-INT-13", "T-MIR-INT-06"])
            .then([apply(&db())])
            .expect_slices([]),
        initial(
            "not-ready-is-mirrored",
            &["M62"],
            &subsets(
                json!([{"addresses": address("10.4.0.1"), "notReadyAddresses": address("10.4.0.2"), "ports": port("http", 80)}]),
            ),
        ),
        initial(
            "two-subsets-one-address",
            &["M52", "T-INT-10", "T-MIR-INT-03"],
            &subsets(json!([
                {"addresses": address("10.4.0.1"), "ports": port("a", 80)},
                {"addresses": address("10.4.0.1"), "ports": port("b", 81)},
            ])),
        )
        .expect_slices([mirrored_slice(
            &json!({"endpoints": [{}], "ports": [{"port": 80}, {"port": 81}]}),
        )]),
        initial(
            "two-subsets-two-addresses",
            &["M65", "T-INT-11", "T-MIR-INT-04"],
            &subsets(json!([
                {"addresses": address("10.4.0.1"), "ports": port("a", 80)},
                {"addresses": address("10.4.0.2"), "ports": port("b", 81)},
            ])),
        )
        .expect_slices([
            mirrored_slice(&json!({"endpoints": [{}], "ports": [{"port": 80}]})),
            mirrored_slice(&json!({"endpoints": [{}], "ports": [{"port": 81}]})),
        ]),
        initial(
            "both-families",
            &["S14"],
            &subsets(json!([{"addresses": [{"ip": "10.4.0.1"}, {"ip": "fd00:4::1"}], "ports": port("http", 80)}])),
        ),
        initial("without-subsets", &["S15"], &db()).then([apply(&subsets(json!([])))]),
        initial("other-ports", &["S13", "M78", "M96"], &db()).then([apply(&endpoints(
            "db",
            &["10.4.0.1", "10.4.0.2"],
            81,
        ))]),
        initial(
            "labels-and-annotations",
            &["M89", "M90"],
            &with(
                &with(&db(), "/metadata/labels", json!({"a": "b"})),
                "/metadata/annotations",
                json!({"c": "d"}),
            ),
        )
        .then([apply(&with(&db(), "/metadata/labels", json!({"new": "label"})))]),
        initial(
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
        initial(
            "a-leader-election-lock",
            &["M3"],
            &with(
                &db(),
                "/metadata/annotations",
                json!({"control-plane.alpha.kubernetes.io/leader": ""}),
            ),
        ),
        initial("the-endpoints-object-is-deleted", &["S3"], &db()).then([delete("Endpoints", "db")]),
        initial("the-mirrored-service-is-deleted", &["S5"], &db()).then([delete("Service", "db")]),
        initial("the-endpoints-object-is-recreated", &["S4", "I7"], &db())
            .then([delete("Endpoints", "db"), apply(&db())]),
        initial("a-selector-is-added", &["S6", "M16"], &db()).then([
            apply(&node("a-selector-is-added-n1", "")),
            apply(&pod("a", "db", "a-selector-is-added-n1", &["10.4.1.1"])),
            apply(&with(&selectorless(), "/spec/selector", json!({"app": "db"}))),
        ]),
        initial("a-mirrored-slice-is-deleted", &["S9", "M21"], &db()).then([delete_slices("db")]),
        initial("a-mirrored-slice-is-edited", &["S10", "M20", "M26"], &db())
            .then([edit_slices("db", json!({"endpoints": []}))])
            .then([edit_slices("db", json!({"metadata": {"labels": {"foreign": "label"}}}))]),
        initial(
            "a-mirrored-slice-is-relabelled-to-another-service",
            &["M19", "M22", "D2"],
            &db(),
        )
        .then([edit_slices(
            "db",
            json!({"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}),
        )])
        .allow_deviation("D2", &[Slices, Writes])
        .expect_slices([mirrored_slice(
            &json!({"metadata": {"labels": {"kubernetes.io/service-name": "db"}}}),
        )]),
        initial("a-mirrored-slice-loses-its-service-label", &["M23", "D2"], &db())
            .then([edit_slices(
                "db",
                json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
            )])
            .allow_deviation("D2", &[Slices, Writes])
            .expect_slices([
                mirrored_slice(&json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}})),
                mirrored_slice(&json!({"metadata": {"labels": {"kubernetes.io/service-name": "db"}}})),
            ]),
        initial(
            "an-fqdn-slice-with-our-mirroring-managed-by",
            &["M1", "M18", "M36", "M68"],
            &db(),
        )
        .then([apply(&json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "foreign", "labels": {
                "kubernetes.io/service-name": "db",
                "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
            }},
            "addressType": "FQDN", "endpoints": [{"addresses": ["example.com"]}], "ports": [],
        }))])
        .expect_slices([mirrored_slice(&json!({"addressType": "IPv4"}))]),
        initial("another-family", &["M67", "M97"], &db())
            .then([apply(&endpoints("db", &["fd00:4::1", "fd00:4::2"], 80))])
            .expect_slices([mirrored_slice(&json!({"addressType": "IPv6"}))]),
        initial("mirrored-while-the-namespace-is-deleted", &["S12", "M102"], &db())
            .then([delete("Namespace", "mirrored-while-the-namespace-is-deleted")])
            .then([apply(&endpoints("db", &["10.4.0.1", "fd00:4::1"], 80))])
            .allow_deviation("D13", &[Slices, Writes]),
        initial(
            "a-mirrored-slice-is-relabelled-to-another-manager",
            &["S11", "M20", "D2"],
            &db(),
        )
        .then([edit_slices(
            "db",
            json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "other"}}}),
        )])
        .allow_deviation("D2", &[Slices, Writes]),
        initial(
            "two-ports-of-one-name",
            &["D3"],
            &subsets(json!([
                {"addresses": address("10.4.0.1"), "ports": [{"port": 80, "protocol": "TCP"}]},
                {"addresses": address("10.4.0.1"), "ports": [{"port": 81, "protocol": "TCP"}]},
            ])),
        )
        .allow_deviation("D3", &[Slices, Writes]),
        initial("an-external-name-is-mirrored", &["M9"], &db()).then([apply(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
            "spec": {"type": "ExternalName", "externalName": "example.com"},
        }))]),
        initial(
            "pod-references",
            &["M62"],
            &subsets(json!([{
                "addresses": [{"ip": "10.4.0.1", "hostname": "a", "nodeName": "n", "targetRef": {"kind": "Pod", "name": "a", "namespace": "x"}}],
                "ports": port("http", 80),
            }])),
        ),
        Scenario::new("endpoints-of-a-service-with-selector-are-not-mirrored", &["M6"])
            .then([apply(&service("db")), apply(&db())]),
    ]
}
