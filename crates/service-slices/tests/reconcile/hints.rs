//! Syncs with hints.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    fixtures::{on_node, pod, three_zones},
    harness::Harness,
};

/// Number of endpoints with a hint for each zone and node, and number of hints for another zone than the endpoint's.
fn hinted(harness: &Harness) -> (BTreeMap<&str, usize>, BTreeMap<&str, usize>, usize) {
    let (mut zones, mut nodes, mut cross) = (BTreeMap::new(), BTreeMap::new(), 0);
    let endpoints = harness.slices.iter().flat_map(|slice| &slice.endpoints);
    for (endpoint, hints) in endpoints.filter_map(|endpoint| Some((endpoint, endpoint.hints.as_ref()?))) {
        for zone in &hints.for_zones {
            *zones.entry(&**zone).or_default() += 1;
            cross += usize::from(Some(zone) != endpoint.zone.as_ref());
        }
        for node in &hints.for_nodes {
            *nodes.entry(&**node).or_default() += 1;
        }
    }
    (zones, nodes, cross)
}

/// Pods in zones, from the number of pods per zone.
fn pods_in(zones: &[(&str, usize)], first: usize) -> Vec<Value> {
    let nodes = zones
        .iter()
        .flat_map(|(zone, count)| vec![format!("node-{zone}"); *count]);
    nodes
        .enumerate()
        .map(|(n, node)| on_node(pod(first + n), &node))
        .collect()
}

fn in_three_zones() -> Harness {
    let mut harness = Harness::new();
    let zone = |zone: &str, name| (format!("node-{zone}"), name);
    harness.nodes = vec![zone("a", "zone-a"), zone("b", "zone-b"), zone("c", "zone-c")];
    harness
}

const OLDER_KEY: &str = "service.kubernetes.io/topology-aware-hints";
const NEWER_KEY: &str = "service.kubernetes.io/topology-mode";

/// Topology mode, with the labels of the metric of changed slices (T-REC-54…58).
#[test]
fn t_rec_54_to_58_topology_mode() {
    let three_c: &[&[(&str, usize)]] = &[&[("c", 3)]];
    let two_zones: &[&[(&str, usize)]] = &[&[("a", 2), ("c", 2)]];
    let nine: &[&[(&str, usize)]] = &[&[("a", 2), ("c", 2)], &[("a", 2), ("b", 3)]];
    let even = |each| [("zone-a", each), ("zone-b", each), ("zone-c", each)].into();
    for (id, cache, mode, slices, expected, cross, metrics, label) in [
        (
            54,
            false,
            "auto",
            three_c,
            [].into(),
            0,
            [1, 1, 3, 0, 0, 0, 0, 0, 0],
            "Disabled",
        ),
        (
            55,
            true,
            "auto",
            three_c,
            even(1),
            2,
            [1, 1, 3, 0, 0, 0, 1, 0, 1],
            "Auto",
        ),
        (
            56,
            true,
            "auto",
            two_zones,
            [].into(),
            0,
            [1, 1, 4, 0, 0, 0, 0, 0, 0],
            "Auto",
        ),
        (57, true, "Auto", nine, even(3), 1, [1, 2, 9, 0, 0, 0, 2, 0, 2], "Auto"),
        (
            58,
            true,
            "disabled",
            nine,
            [].into(),
            0,
            [1, 2, 9, 0, 0, 0, 0, 0, 0],
            "Disabled",
        ),
    ] {
        let mut harness = in_three_zones();
        harness.topology = cache.then(three_zones);
        harness.service["metadata"]["annotations"] = json!({OLDER_KEY: mode});
        for (n, zones) in slices.iter().enumerate() {
            let pods = pods_in(zones, n * 10);
            harness.pods.extend(pods.clone());
            harness.service["metadata"]["annotations"][OLDER_KEY] = json!("");
            harness.store(pods);
        }
        harness.service["metadata"]["annotations"][OLDER_KEY] = json!(mode);
        let synced = harness.sync();
        assert_eq!(synced.metrics(), metrics, "T-REC-{id}");
        assert_eq!(hinted(&harness), (expected, [].into(), cross), "T-REC-{id}");
        assert_eq!(synced.plan.hints[0].result.labels(), (label, ""), "T-REC-{id}");
    }
}

/// Traffic distribution (T-REC-42, T-REC-59…63). The gauge of Services per value is tested with the controller.
#[test]
fn t_rec_59_to_63_traffic_distribution() {
    let zones = |a, b, c| [("zone-a", a), ("zone-b", b), ("zone-c", c)].into();
    for (id, field, annotation, newer_values, expected, nodes, cross, labels) in [
        (
            "42, 59",
            json!("PreferClose"),
            "Disabled",
            true,
            zones(1, 3, 2),
            false,
            0,
            ("Disabled", "PreferClose"),
        ),
        (
            "60",
            json!("PreferClose"),
            "Auto",
            true,
            zones(2, 2, 2),
            false,
            1,
            ("Auto", ""),
        ),
        ("61", Value::Null, "", true, [].into(), false, 0, ("Disabled", "")),
        (
            "62",
            json!("PreferSameNode"),
            "",
            true,
            zones(1, 3, 2),
            true,
            0,
            ("Disabled", "PreferSameNode"),
        ),
        (
            "63",
            json!("PreferSameZone"),
            "",
            false,
            [].into(),
            false,
            0,
            ("Disabled", ""),
        ),
    ] {
        let mut harness = in_three_zones();
        harness.topology = Some(three_zones());
        harness.pods = pods_in(&[("a", 1), ("b", 3), ("c", 2)], 0);
        harness.service["spec"]["trafficDistribution"] = field;
        harness.service["metadata"]["annotations"] = json!({NEWER_KEY: annotation});
        harness.newer_values = newer_values;
        let synced = harness.sync();
        assert_eq!(synced.metrics(), [1, 1, 6, 6, 0, 1, 0, 0, 1], "T-REC-{id}");
        let per_node = if nodes {
            [("node-a", 1), ("node-b", 3), ("node-c", 2)].into()
        } else {
            [].into()
        };
        assert_eq!(hinted(&harness), (expected, per_node, cross), "T-REC-{id}");
        assert_eq!(synced.plan.hints[0].result.labels(), labels, "T-REC-{id}");
        assert_eq!(harness.sync().writes(), [0, 0, 0], "T-REC-{id}");
    }
}
