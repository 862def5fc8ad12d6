//! Pods and nodes that are created, changed and deleted.

use serde_json::{Value, json};

use crate::scenario::{
    Aspect::{Events, Slices, Writes},
    Change, Scenario, apply, delete, node, pod, service, terminate, with,
};

fn ready(pod: &Value, ready: bool) -> Value {
    with(
        pod,
        "/status/conditions/0/status",
        json!(if ready { "True" } else { "False" }),
    )
}

/// First step: a Service with two ready pods on a node of the scenario.
fn initial(name: &'static str, rules: &'static [&'static str]) -> Scenario {
    let node_name = format!("{name}-n1");
    Scenario::new(name, rules).then([
        apply(&node(&node_name, "zone-a")),
        apply(&service("web")),
        apply(&pod("a", "web", &node_name, &["10.1.0.1"])),
        apply(&pod("b", "web", &node_name, &["10.1.0.2"])),
    ])
}

/// The first pod of [`initial`].
fn first_pod(name: &str) -> Value {
    pod("a", "web", &format!("{name}-n1"), &["10.1.0.1"])
}

/// Pattern of a slice with both pods; the first one has the conditions ready, serving, terminating.
fn with_conditions([ready, serving, terminating]: [bool; 3]) -> Value {
    json!({"endpoints": [
        {"addresses": ["10.1.0.1"], "conditions": {"ready": ready, "serving": serving, "terminating": terminating}},
        {"addresses": ["10.1.0.2"], "conditions": {"ready": true, "serving": true, "terminating": false}},
    ]})
}

#[expect(clippy::too_many_lines, reason = "a list of scenarios")]
pub(super) fn all() -> Vec<Scenario> {
    let many = |name: &str, numbers: std::ops::Range<u8>| -> Vec<Change> {
        let node_name = format!("{name}-n1");
        let pods = numbers.map(|i| pod(&format!("p{i}"), "web", &node_name, &[&format!("10.2.0.{i}")]));
        pods.map(|pod| apply(&pod)).collect()
    };
    vec![
        initial("a-pod-is-created", &["R55", "R22", "R106"]).then([apply(&pod(
            "c",
            "web",
            "a-pod-is-created-n1",
            &["10.1.0.3"],
        ))]),
        initial("a-pod-is-deleted", &["R55", "R80"]).then([delete("Pod", "a")]),
        initial("all-pods-are-deleted", &["R88", "R89", "I5"]).then([delete("Pod", "a"), delete("Pod", "b")]),
        initial("pods-are-recreated", &["R90", "I5"])
            .then([delete("Pod", "a"), delete("Pod", "b")])
            .then([apply(&first_pod("pods-are-recreated"))]),
        initial("a-pod-is-no-longer-ready", &["R58", "R79"])
            .then([apply(&ready(&first_pod("a-pod-is-no-longer-ready"), false))])
            .then([apply(&ready(&first_pod("a-pod-is-no-longer-ready"), true))]),
        initial("a-pod-without-the-condition", &["R58"]).then([apply(&with(
            &first_pod("a-pod-without-the-condition"),
            "/status/conditions",
            json!([]),
        ))]),
        initial("a-ready-pod-terminates", &["R59", "T-INT-06"])
            .then([terminate("a")])
            .expect_slices([with_conditions([false, true, true])])
            .then([delete("Pod", "a")]),
        initial("an-unready-pod-terminates", &["R59", "T-INT-07"])
            .then([apply(&ready(&first_pod("an-unready-pod-terminates"), false))])
            .then([terminate("a")])
            .expect_slices([with_conditions([false, false, true])]),
        initial("a-pod-succeeds", &["R57"]).then([apply(&with(
            &ready(&first_pod("a-pod-succeeds"), false),
            "/status/phase",
            json!("Succeeded"),
        ))]),
        initial("a-pod-fails", &["R57"]).then([apply(&with(
            &ready(&first_pod("a-pod-fails"), false),
            "/status/phase",
            json!("Failed"),
        ))]),
        initial("an-unready-pod-succeeds", &["W9"])
            .then([apply(&ready(&first_pod("an-unready-pod-succeeds"), false))])
            .then([apply(&with(
                &ready(&first_pod("an-unready-pod-succeeds"), false),
                "/status/phase",
                json!("Succeeded"),
            ))])
            .allow_deviation("W9", &[Slices, Writes]),
        initial("a-pod-gets-another-address", &["R18", "R76"]).then([apply(&pod(
            "a",
            "web",
            "a-pod-gets-another-address-n1",
            &["10.1.0.9"],
        ))]),
        initial("a-pod-without-address", &["R57", "R60"])
            .then([apply(&with(
                &pod("c", "web", "a-pod-without-address-n1", &[]),
                "/status/conditions",
                json!([]),
            ))])
            .then([apply(&pod("c", "web", "a-pod-without-address-n1", &["10.1.0.3"]))]),
        initial("a-pod-loses-its-label", &["R19", "R21"])
            .then([apply(&with(
                &first_pod("a-pod-loses-its-label"),
                "/metadata/labels",
                json!({"other": "label"}),
            ))])
            .then([apply(&first_pod("a-pod-loses-its-label"))]),
        initial("a-pod-changes-service", &["R21"])
            .then([apply(&service("db"))])
            .then([apply(&with(
                &first_pod("a-pod-changes-service"),
                "/metadata/labels/app",
                json!("db"),
            ))]),
        initial("two-services-one-pod", &["R20"])
            .then([apply(&with(&service("twin"), "/spec/selector", json!({"app": "web"})))])
            .then([delete("Pod", "a")]),
        initial("two-pods-one-address", &["R77", "T-CTL-18"]).then([apply(&pod(
            "c",
            "web",
            "two-pods-one-address-n1",
            &["10.1.0.1"],
        ))]),
        initial("more-than-a-hundred-pods", &["R82", "R83", "G-11"])
            .then(many("more-than-a-hundred-pods", 0..98))
            .then(many("more-than-a-hundred-pods", 98..101))
            .then([delete("Pod", "p0"), delete("Pod", "p1")])
            .then(many("more-than-a-hundred-pods", 101..105)),
        initial("a-pod-on-an-unknown-node", &["R65", "W10"])
            .then([apply(&pod("c", "web", "a-pod-on-an-unknown-node-n2", &["10.1.0.3"]))])
            .allow_deviation("W10", &[Events])
            .then([apply(&node("a-pod-on-an-unknown-node-n2", "zone-b"))])
            .allow_deviation("W10", &[Slices, Writes]),
        initial("a-node-is-deleted", &["R65"])
            .then([delete("Node", "a-node-is-deleted-n1")])
            .allow_deviation("W10", &[Slices, Writes]),
        initial("a-node-changes-zone", &["R63", "W10"])
            .then([apply(&node("a-node-changes-zone-n1", "zone-b"))])
            .allow_deviation("W10", &[Slices, Writes]),
        Scenario::new("a-hostname-in-a-subdomain", &["R64"]).then([
            apply(&node("a-hostname-in-a-subdomain-n1", "")),
            apply(&with(&service("web"), "/spec/clusterIP", json!("None"))),
            apply(&with(
                &with(
                    &pod("a", "web", "a-hostname-in-a-subdomain-n1", &["10.1.0.1"]),
                    "/spec/hostname",
                    json!("a"),
                ),
                "/spec/subdomain",
                json!("web"),
            )),
        ]),
        Scenario::new("publish-not-ready-addresses", &["R58", "R65"])
            .then([
                apply(&with(&service("web"), "/spec/publishNotReadyAddresses", json!(true))),
                apply(&ready(
                    &pod("a", "web", "publish-not-ready-addresses-n1", &["10.1.0.1"]),
                    false,
                )),
            ])
            .then([apply(&with(
                &service("web"),
                "/spec/publishNotReadyAddresses",
                json!(false),
            ))])
            .allow_deviation("W10", &[Events])
            .then([apply(&node("publish-not-ready-addresses-n1", ""))])
            .allow_deviation("W10", &[Slices, Writes]),
    ]
}
