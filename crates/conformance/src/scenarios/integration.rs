//! What upstream's integration tests play of the mirroring controller; those of the other controller are with their kind.

use serde_json::{Value, json};

use crate::scenario::{Scenario, apply, endpoints, mirrored, node, of_pods, pod, with};

/// A Service without a selector, or with an empty one, which is the same.
fn service(selector: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "test"},
        "spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "selector": selector},
    })
}

fn object() -> Value {
    endpoints("test", &["10.0.0.1"], 80)
}

/// A mirrored object that changes.
fn updated(name: &'static str, rules: &'static [&'static str], object: &Value, slice: &Value) -> Scenario {
    Scenario::new(name, rules)
        .then([apply(&service(&Value::Null)), apply(&self::object())])
        .shows([mirrored(&json!({}))])
        .then([apply(object)])
        .shows([mirrored(slice)])
}

/// A Service and a pod that it may select. With a selector the controller for Endpoints writes the object.
fn transition(name: &'static str, rules: &'static [&'static str], selector: &Value) -> Scenario {
    let node_name = format!("{name}-n1");
    let pod = pod("a", "test", &node_name, &["10.0.0.9"]);
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "")),
        apply(&with(&pod, "/metadata/labels", json!({"foo": "bar"}))),
        apply(&service(selector)),
    ])
}

fn selector_comes(name: &'static str, rules: &'static [&'static str], none: &Value) -> Scenario {
    transition(name, rules, none)
        .then([apply(&object())])
        .shows([mirrored(&json!({}))])
        .then([apply(&service(&json!({"foo": "bar"})))])
        .shows([of_pods(&json!({}))])
}

fn selector_goes(name: &'static str, rules: &'static [&'static str], none: &Value) -> Scenario {
    transition(name, rules, &json!({"foo": "bar"}))
        .shows([of_pods(&json!({}))])
        .then([apply(&service(none))])
        .shows([of_pods(&json!({})), mirrored(&json!({}))])
}

pub(super) fn all() -> Vec<Scenario> {
    let annotated = |annotations: Value| with(&object(), "/metadata/annotations", annotations);
    let annotations = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    let trigger_time = "endpoints.kubernetes.io/last-change-trigger-time";
    vec![
        Scenario::new(
            "a-selector-and-three-controllers",
            &["T-INT-08", "T-INT-12", "T-MIR-INT-01", "T-MIR-INT-05", "M6", "M10"],
        )
        .then([apply(&service(&json!({"foo": "bar"})))])
        .shows([of_pods(&json!({"endpoints": null}))]),
        updated(
            "a-label-comes",
            &["T-INT-14", "T-MIR-INT-07", "M13", "M89"],
            &with(&object(), "/metadata/labels", json!({"foo": "bar"})),
            &json!({"metadata": {"labels": {"foo": "bar"}}}),
        ),
        updated(
            "an-annotation-comes",
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
        selector_comes(
            "from-no-selector-to-one",
            &["T-INT-18", "T-MIR-INT-11", "M16", "S6"],
            &Value::Null,
        ),
        selector_goes(
            "from-a-selector-to-none",
            &["T-INT-19", "T-MIR-INT-12", "M16", "S7"],
            &Value::Null,
        ),
        selector_comes(
            "from-an-empty-selector-to-one",
            &["T-INT-20", "T-MIR-INT-13", "M8"],
            &json!({}),
        ),
        selector_goes(
            "from-a-selector-to-an-empty-one",
            &["T-INT-21", "T-MIR-INT-14", "M8"],
            &json!({}),
        ),
    ]
}
