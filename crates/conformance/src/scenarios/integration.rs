//! Upstream's integration tests of the mirroring controller. Those of the EndpointSlice controller are in the other modules, by
//! subject.

use serde_json::{Value, json};

use crate::scenario::{Scenario, apply, endpoints, mirrored_slice, node, pod, pod_slice, with};

/// A Service with this selector; null or empty for none.
fn service(selector: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "test"},
        "spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "selector": selector},
    })
}

fn default_endpoints() -> Value {
    endpoints("test", &["10.0.0.1"], 80)
}

/// A mirrored Endpoints object that is changed, and the expected slice.
fn updated(name: &'static str, rules: &'static [&'static str], object: &Value, slice: &Value) -> Scenario {
    Scenario::new(name, rules)
        .then([apply(&service(&Value::Null)), apply(&default_endpoints())])
        .expect_slices([mirrored_slice(&json!({}))])
        .then([apply(object)])
        .expect_slices([mirrored_slice(slice)])
}

/// First step: a Service with this selector, and a pod that matches it. With a selector, the Endpoints controller writes the
/// Endpoints object.
fn transition(name: &'static str, rules: &'static [&'static str], selector: &Value) -> Scenario {
    let node_name = format!("{name}-n1");
    let pod = pod("a", "test", &node_name, &["10.0.0.9"]);
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "")),
        apply(&with(&pod, "/metadata/labels", json!({"foo": "bar"}))),
        apply(&service(selector)),
    ])
}

fn selector_is_added(name: &'static str, rules: &'static [&'static str], no_selector: &Value) -> Scenario {
    transition(name, rules, no_selector)
        .then([apply(&default_endpoints())])
        .expect_slices([mirrored_slice(&json!({}))])
        .then([apply(&service(&json!({"foo": "bar"})))])
        .expect_slices([pod_slice(&json!({}))])
}

fn selector_is_removed(name: &'static str, rules: &'static [&'static str], no_selector: &Value) -> Scenario {
    transition(name, rules, &json!({"foo": "bar"}))
        .expect_slices([pod_slice(&json!({}))])
        .then([apply(&service(no_selector))])
        .expect_slices([pod_slice(&json!({})), mirrored_slice(&json!({}))])
}

pub(super) fn all() -> Vec<Scenario> {
    let annotated = |annotations: Value| with(&default_endpoints(), "/metadata/annotations", annotations);
    let annotations = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    let trigger_time = "endpoints.kubernetes.io/last-change-trigger-time";
    vec![
        Scenario::new(
            "a-service-with-selector-and-three-controllers",
            &["T-INT-08", "T-INT-12", "T-MIR-INT-01", "T-MIR-INT-05", "M6", "M10"],
        )
        .then([apply(&service(&json!({"foo": "bar"})))])
        .expect_slices([pod_slice(&json!({"endpoints": null}))]),
        updated(
            "a-label-is-added",
            &["T-INT-14", "T-MIR-INT-07", "M13", "M89"],
            &with(&default_endpoints(), "/metadata/labels", json!({"foo": "bar"})),
            &json!({"metadata": {"labels": {"foo": "bar"}}}),
        ),
        updated(
            "an-annotation-is-added",
            &["T-INT-15", "T-MIR-INT-08", "M90"],
            &annotated(json!({"foo2": "bar2"})),
            &annotations(json!({"foo2": "bar2"})),
        ),
        updated(
            "a-trigger-time-is-not-copied",
            &["T-INT-16", "T-MIR-INT-09", "M90"],
            &annotated(json!({"foo2": "bar2", trigger_time: "date"})),
            &annotations(json!({"foo2": "bar2", trigger_time: null})),
        ),
        updated(
            "other-addresses",
            &["T-INT-17", "T-MIR-INT-10", "M80", "M84"],
            &endpoints("test", &["1.2.3.4", "1.2.3.6"], 80),
            &json!({"endpoints": [{"addresses": ["1.2.3.4"]}, {"addresses": ["1.2.3.6"]}]}),
        ),
        selector_is_added(
            "from-no-selector-to-one",
            &["T-INT-18", "T-MIR-INT-11", "M16", "S6"],
            &Value::Null,
        ),
        selector_is_removed(
            "from-a-selector-to-none",
            &["T-INT-19", "T-MIR-INT-12", "M16", "S7"],
            &Value::Null,
        ),
        selector_is_added(
            "from-an-empty-selector-to-one",
            &["T-INT-20", "T-MIR-INT-13", "M8"],
            &json!({}),
        ),
        selector_is_removed(
            "from-a-selector-to-an-empty-one",
            &["T-INT-21", "T-MIR-INT-14", "M8"],
            &json!({}),
        ),
    ]
}
