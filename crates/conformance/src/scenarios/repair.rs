//! Slices that somebody else lays hands on.

use serde_json::{Value, json};

use crate::scenario::{
    Aspect::{Slices, Writes},
    Scenario, apply, delete, delete_slices, edit_slices, node, pod, service,
};

fn begun(name: &'static str, rules: &'static [&'static str]) -> Scenario {
    let node_name = format!("{name}-n1");
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "zone-a")),
        apply(&service("web")),
        apply(&pod("a", "web", &node_name, &["10.1.0.1"])),
    ])
}

/// A slice that somebody else makes as if it were one of ours.
fn in_our_name(kind: &str, address: &str) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "by-hand", "labels": {
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }},
        "addressType": kind, "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    })
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        begun("a-slice-is-deleted", &["R24", "W2"]).then([delete_slices("web")]),
        begun("endpoints-are-removed-by-hand", &["R24"]).then([edit_slices("web", json!({"endpoints": []}))]),
        begun("ports-are-changed-by-hand", &["R24"]).then([edit_slices(
            "web",
            json!({"ports": [{"name": "x", "port": 1, "protocol": "TCP"}]}),
        )]),
        begun("a-label-is-added-by-hand", &["R110"]).then([edit_slices(
            "web",
            json!({"metadata": {"labels": {"foreign": "label"}}}),
        )]),
        begun("an-annotation-is-added-by-hand", &["R115", "W24"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"annotations": {"foreign": "annotation"}}}),
            )])
            .then([apply(&pod(
                "b",
                "web",
                "an-annotation-is-added-by-hand-n1",
                &["10.1.0.2"],
            ))]),
        begun("a-slice-is-given-to-another-service", &["R24", "W1"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"kubernetes.io/service-name": "other"}}}),
            )])
            .unlike("W1", &[Slices, Writes]),
        begun("a-slice-loses-its-service", &["R11", "R24", "W1"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
            )])
            .unlike("W1", &[Slices, Writes])
            .shows([
                json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
                json!({"metadata": {"labels": {"kubernetes.io/service-name": "web"}}}),
            ]),
        begun("a-slice-is-given-to-another-manager", &["R24", "W1", "T-CTL-12"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "other"}}}),
            )])
            .unlike("W1", &[Slices, Writes]),
        begun("a-finalizer-holds-a-slice", &["W3", "108267"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"finalizers": ["example.com/hold"]}}),
            )])
            .then([delete_slices("web")])
            .unlike("W3", &[Slices, Writes])
            .then([apply(&pod("b", "web", "a-finalizer-holds-a-slice-n1", &["10.1.0.2"]))])
            .unlike("W3", &[Slices, Writes])
            .then([edit_slices("web", json!({"metadata": {"finalizers": Value::Null}}))])
            .unlike("W3", &[Slices, Writes]),
        begun("a-slice-in-our-name-without-an-owner", &["R53", "R55", "R109"])
            .then([apply(&in_our_name("IPv4", "10.1.0.9"))])
            .shows([json!({"endpoints": [{"addresses": ["10.1.0.1"]}]})]),
        begun("a-slice-of-names-in-our-name", &["R54", "R56a"])
            .then([apply(&in_our_name("FQDN", "example.com"))])
            .shows([json!({"addressType": "IPv4"})]),
        begun("a-label-alone-is-repaired-with-the-pods", &["R110"]).then([
            edit_slices("web", json!({"metadata": {"labels": {"foreign": "label"}}})),
            delete("Pod", "a"),
        ]),
    ]
}
