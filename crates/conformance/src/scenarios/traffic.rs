//! Upstream's end-to-end tests of traffic distribution, without traffic: there is neither a kubelet nor a proxy, so reachable
//! addresses are computed from the hints.

use serde_json::{Value, json};

use crate::scenario::{Change, Scenario, apply, delete, node, pod, pod_slice, service, with};

/// First step: nodes `n0`… in these zones, and a server on the nodes `on`.
fn servers(
    name: &'static str,
    rules: &'static [&'static str],
    distribution: &str,
    zones: &[&str],
    on: &[usize],
) -> Scenario {
    let mut changes = vec![apply(&with(
        &service("web"),
        "/spec/trafficDistribution",
        json!(distribution),
    ))];
    changes.extend(
        zones
            .iter()
            .enumerate()
            .map(|(i, zone)| apply(&node(&format!("{name}-n{i}"), zone))),
    );
    changes.extend(on.iter().map(|i| server(name, *i)));
    Scenario::new(name, rules).then(changes)
}

/// Applies the server pod of a node.
fn server(name: &str, node: usize) -> Change {
    apply(&pod(
        &format!("s{node}"),
        "web",
        &format!("{name}-n{node}"),
        &[&format!("10.6.0.{node}")],
    ))
}

/// Clients in three zones, servers in two.
fn three_zones(name: &'static str, rules: &'static [&'static str], distribution: &str) -> Scenario {
    servers(name, rules, distribution, &["zone-a", "zone-b", "zone-c"], &[0, 1])
        .expect_reachable(&format!("{name}-n0"), "zone-a", &["10.6.0.0"])
        .expect_reachable(&format!("{name}-n1"), "zone-b", &["10.6.0.1"])
        .expect_reachable(&format!("{name}-n2"), "zone-c", &["10.6.0.0", "10.6.0.1"])
}

/// Two nodes per zone, with two servers in the first zone, one in the second and none in the third.
fn six_nodes(name: &'static str, rules: &'static [&'static str], distribution: &str) -> Scenario {
    let zones = ["zone-a", "zone-a", "zone-b", "zone-b", "zone-c", "zone-c"];
    servers(name, rules, distribution, &zones, &[0, 1, 2])
}

fn six_nodes_by_zone(name: &'static str, rules: &'static [&'static str], distribution: &str) -> Scenario {
    let all = ["10.6.0.0", "10.6.0.1", "10.6.0.2"];
    let reachable = [&all[..2], &all[..2], &all[2..], &all[2..], &all, &all];
    let zones = ["zone-a", "zone-a", "zone-b", "zone-b", "zone-c", "zone-c"];
    let mut scenario = six_nodes(name, rules, distribution);
    for (i, (zone, addresses)) in zones.iter().zip(reachable).enumerate() {
        scenario = scenario.expect_reachable(&format!("{name}-n{i}"), zone, addresses);
    }
    scenario
}

fn same_node() -> Scenario {
    let name = "same-node-on-six-nodes";
    let all = ["10.6.0.0", "10.6.0.1", "10.6.0.2"];
    six_nodes(name, &["T-HE2E-06", "H57"], "PreferSameNode")
        .expect_reachable("same-node-on-six-nodes-n0", "zone-a", &all[..1])
        .expect_reachable("same-node-on-six-nodes-n1", "zone-a", &all[1..2])
        .expect_reachable("same-node-on-six-nodes-n2", "zone-b", &all[2..])
        .expect_reachable("same-node-on-six-nodes-n3", "zone-b", &all[2..])
        .expect_reachable("same-node-on-six-nodes-n4", "zone-c", &all)
}

fn a_server_is_deleted() -> Scenario {
    let name = "same-node-and-a-deleted-server";
    let nodes = ["same-node-and-a-deleted-server-n0", "same-node-and-a-deleted-server-n1"];
    let expect_own_server = |scenario: Scenario| {
        scenario
            .expect_reachable(nodes[0], "zone-a", &["10.6.0.0"])
            .expect_reachable(nodes[1], "zone-a", &["10.6.0.1"])
    };
    let initial = servers(
        name,
        &["T-HE2E-07", "H57"],
        "PreferSameNode",
        &["zone-a", "zone-a"],
        &[0, 1],
    );
    let deleted = expect_own_server(initial)
        .then([delete("Pod", "s0")])
        .expect_reachable(nodes[0], "zone-a", &["10.6.0.1"])
        .expect_reachable(nodes[1], "zone-a", &["10.6.0.1"]);
    expect_own_server(deleted.then([server(name, 0)]))
}

/// A pod on each node of three equal zones, like a `DaemonSet`.
fn pod_on_every_node() -> Scenario {
    let name = "auto-and-a-pod-on-every-node";
    let service = with(&service("web"), "/spec/publishNotReadyAddresses", json!(true));
    let auto = json!({"service.kubernetes.io/topology-mode": "Auto"});
    let zones = ["zone-a", "zone-b", "zone-c"];
    let mut scenario = servers(name, &["T-HE2E-01", "R98", "R99"], "PreferClose", &zones, &[0, 1, 2])
        .exclusive()
        .then([apply(&with(&service, "/metadata/annotations", auto))]);
    let endpoint = |zone: &&str| json!({"zone": zone, "hints": {"forZones": [{"name": zone}]}});
    let endpoints: Vec<Value> = zones.iter().map(endpoint).collect();
    scenario = scenario.expect_slices([pod_slice(&json!({"endpoints": endpoints}))]);
    for (i, zone) in zones.iter().enumerate() {
        let own = ["10.6.0.0", "10.6.0.1", "10.6.0.2"][i];
        scenario = scenario.expect_reachable(&format!("{name}-n{i}"), zone, &[own]);
    }
    scenario
}

pub(super) fn all() -> Vec<Scenario> {
    vec![
        pod_on_every_node(),
        three_zones(
            "prefer-close-in-three-zones",
            &["T-HE2E-02", "H68", "H69"],
            "PreferClose",
        ),
        six_nodes_by_zone("prefer-close-on-six-nodes", &["T-HE2E-03", "H68"], "PreferClose"),
        three_zones(
            "prefer-same-zone-in-three-zones",
            &["T-HE2E-04", "R103c"],
            "PreferSameZone",
        ),
        six_nodes_by_zone(
            "prefer-same-zone-on-six-nodes",
            &["T-HE2E-05", "R103c"],
            "PreferSameZone",
        ),
        same_node(),
        a_server_is_deleted(),
    ]
}
