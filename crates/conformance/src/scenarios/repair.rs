//! Slices that another client edits, deletes or creates.

use serde_json::{Value, json};

use crate::scenario::{
    Aspect::{Slices, Writes},
    Scenario, apply, delete, delete_slices, edit_slices, node, pod, service,
};

/// First step: a Service with one pod.
fn initial(name: &'static str, rules: &'static [&'static str]) -> Scenario {
    let node_name = format!("{name}-n1");
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "zone-a")),
        apply(&service("web")),
        apply(&pod("a", "web", &node_name, &["10.1.0.1"])),
    ])
}

/// A slice of another client with our managed-by label.
fn foreign_slice(address_type: &str, address: &str) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "foreign", "labels": {
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }},
        "addressType": address_type, "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    })
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        initial("a-slice-is-deleted", &["R24", "W2"]).then([delete_slices("web")]),
        initial("endpoints-are-removed-manually", &["R24"]).then([edit_slices("web", json!({"endpoints": []}))]),
        initial("ports-are-changed-manually", &["R24"]).then([edit_slices(
            "web",
            json!({"ports": [{"name": "x", "port": 1, "protocol": "TCP"}]}),
        )]),
        initial("a-label-is-added-manually", &["R110"]).then([edit_slices(
            "web",
            json!({"metadata": {"labels": {"foreign": "label"}}}),
        )]),
        initial("an-annotation-is-added-manually", &["R115", "W24"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"annotations": {"foreign": "annotation"}}}),
            )])
            .then([apply(&pod(
                "b",
                "web",
                "an-annotation-is-added-manually-n1",
                &["10.1.0.2"],
            ))]),
        initial("a-slice-is-relabelled-to-another-service", &["R24", "W1"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}),
            )])
            .allow_deviation("W1", &[Slices, Writes]),
        initial("a-slice-loses-its-service-label", &["R11", "R24", "W1"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
            )])
            .allow_deviation("W1", &[Slices, Writes])
            .expect_slices([
                json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
                json!({"metadata": {"labels": {"kubernetes.io/service-name": "web"}}}),
            ]),
        initial("a-slice-is-relabelled-to-another-manager", &["R24", "W1", "T-CTL-12"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "other"}}}),
            )])
            .allow_deviation("W1", &[Slices, Writes]),
        initial("a-slice-has-a-finalizer", &["W3", "108267"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"finalizers": ["example.com/hold"]}}),
            )])
            .then([delete_slices("web")])
            .allow_deviation("W3", &[Slices, Writes])
            .then([apply(&pod("b", "web", "a-slice-has-a-finalizer-n1", &["10.1.0.2"]))])
            .allow_deviation("W3", &[Slices, Writes])
            .then([edit_slices("web", json!({"metadata": {"finalizers": Value::Null}}))])
            .allow_deviation("W3", &[Slices, Writes]),
        initial("a-foreign-slice-with-our-managed-by", &["R53", "R55", "R109"])
            .then([apply(&foreign_slice("IPv4", "10.1.0.9"))])
            .expect_slices([json!({"endpoints": [{"addresses": ["10.1.0.1"]}]})]),
        initial("an-fqdn-slice-with-our-managed-by", &["R54", "R56a"])
            .then([apply(&foreign_slice("FQDN", "example.com"))])
            .expect_slices([json!({"addressType": "IPv4"})]),
        initial("a-label-alone-is-repaired-with-the-pods", &["R110"]).then([
            edit_slices("web", json!({"metadata": {"labels": {"foreign": "label"}}})),
            delete("Pod", "a"),
        ]),
    ]
}
