//! Hints.

use serde_json::{Value, json};

use super::super::scenario::{Scenario, apply, delete, node, pod, service, with};

fn traffic(value: &str) -> Value {
    with(&service("web"), "/spec/trafficDistribution", json!(value))
}

fn auto() -> Value {
    with(
        &service("web"),
        "/metadata/annotations",
        json!({"service.kubernetes.io/topology-mode": "Auto"}),
    )
}

/// Two zones, so many pods in each.
fn spread(name: &'static str, rules: &'static [&'static str], service: &Value, pods: usize) -> Scenario {
    let mut changes = vec![apply(service)];
    for (zone, letter) in ["zone-a", "zone-b"].iter().enumerate() {
        let node_name = format!("{name}-n{zone}");
        changes.push(apply(&node(&node_name, letter)));
        for i in 0..pods {
            changes.push(apply(&pod(
                &format!("p{zone}{i}"),
                "web",
                &node_name,
                &[&format!("10.3.{zone}.{}", i + 1)],
            )));
        }
    }
    Scenario::new(name, rules).then(changes)
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        spread("prefer-close", &["H3", "H31"], &traffic("PreferClose"), 2),
        spread("prefer-same-zone", &["H3"], &traffic("PreferSameZone"), 2),
        spread("prefer-same-node", &["H3"], &traffic("PreferSameNode"), 2).then([delete("Pod", "p00")]),
        spread("traffic-distribution-comes-and-goes", &["T-INT-26"], &service("web"), 1)
            .then([apply(&traffic("PreferClose"))])
            .then([apply(&traffic("PreferSameNode"))])
            .then([apply(&service("web"))]),
        spread("auto-in-two-zones", &["R96", "R101"], &auto(), 3)
            .alone()
            .then([apply(&service("web"))]),
        spread("auto-with-too-few", &["R98"], &auto(), 1).alone(),
        spread("auto-and-a-zone-that-goes", &["R102", "R26"], &auto(), 3)
            .alone()
            .then([delete("Node", "auto-and-a-zone-that-goes-n1")])
            .unlike("W10"),
        spread(
            "auto-wins-over-the-field",
            &["R94", "T-INT-26"],
            &with(&auto(), "/spec/trafficDistribution", json!("PreferClose")),
            3,
        )
        .alone()
        .then([apply(&traffic("PreferClose"))]),
    ]
}
