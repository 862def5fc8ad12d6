//! Slices that somebody else lays hands on.

use serde_json::{Value, json};

use super::super::scenario::{Scenario, apply, delete, delete_slices, edit_slices, node, pod, service};

fn begun(name: &'static str, rules: &'static [&'static str]) -> Scenario {
    let node_name = format!("{name}-n1");
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "zone-a")),
        apply(&service("web")),
        apply(&pod("a", "web", &node_name, &["10.1.0.1"])),
    ])
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        begun("a-slice-is-deleted", &["R24", "W2"]).then([delete_slices("web")]),
        begun("endpoints-are-removed-by-hand", &["R24", "T-E2E"]).then([edit_slices("web", json!({"endpoints": []}))]),
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
            .unlike("W1"),
        begun("a-slice-is-given-to-another-manager", &["R24", "W1", "T-CTL-12"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "other"}}}),
            )])
            .unlike("W1"),
        begun("a-finalizer-holds-a-slice", &["W3", "108267"])
            .then([edit_slices(
                "web",
                json!({"metadata": {"finalizers": ["example.com/hold"]}}),
            )])
            .then([delete_slices("web")])
            .unlike("W3")
            .then([apply(&pod("b", "web", "a-finalizer-holds-a-slice-n1", &["10.1.0.2"]))])
            .unlike("W3")
            .then([edit_slices("web", json!({"metadata": {"finalizers": Value::Null}}))])
            .unlike("W3"),
        begun("a-label-alone-is-repaired-with-the-pods", &["R110"]).then([
            edit_slices("web", json!({"metadata": {"labels": {"foreign": "label"}}})),
            delete("Pod", "a"),
        ]),
    ]
}
