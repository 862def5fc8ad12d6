//! What holds for hints under the mode Auto whatever was chosen within it (H22–H31).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

use super::quantity::milli;
use crate::history::names::{CONTROL_PLANE_ROLES, ZONE};
use crate::history::object::label;

/// One endpoint too many in a zone is still no overload up to this share.
const OVERLOAD: f64 = 0.2;

/// What counts of a node. A node that counts but does not say all of it makes hints impossible.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeFacts {
    zone: String,
    milli_cpu: f64,
}

impl NodeFacts {
    /// Nothing for a node that does not count: of the control plane, or not ready.
    pub(crate) fn of(node: &Node) -> Option<Self> {
        let labels = node.metadata.labels.as_ref();
        let is_excluded =
            labels.is_some_and(|labels| CONTROL_PLANE_ROLES.iter().any(|role| labels.contains_key(*role)));
        let status = node.status.as_ref();
        let conditions = status
            .and_then(|status| status.conditions.as_deref())
            .unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
        let counts = !is_excluded && ready.is_some_and(|condition| condition.status == "True");
        let allocatable = status.and_then(|status| status.allocatable.as_ref());
        let cpu = allocatable.and_then(|amounts| amounts.get("cpu"));
        counts.then(|| Self {
            zone: label(&node.metadata, ZONE).to_owned(),
            milli_cpu: cpu.and_then(milli).unwrap_or_default(),
        })
    }
}

/// How many endpoints each zone may be hinted.
#[derive(Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) most: BTreeMap<String, usize>,
}

impl Spread {
    /// For so many ready endpoints; nothing where Auto gives no hints (H29).
    pub(crate) fn of<'a>(nodes: impl Iterator<Item = &'a Node>, endpoints: usize) -> Option<Self> {
        let ratios = ratios(nodes)?;
        if ratios.len() > endpoints {
            return None;
        }
        let wanted = |ratio: f64| ratio * count(endpoints);
        let least = |ratio: f64| (wanted(ratio) * (1.0 / (1.0 + OVERLOAD))).ceil();
        let slack = count(endpoints) - ratios.values().map(|ratio| least(*ratio)).sum::<f64>();
        if slack < 0.0 {
            return None;
        }
        let most = |ratio: f64| -> usize {
            // Rebalancing ends with up to half an endpoint missing in each of the other zones (H49).
            let target = wanted(ratio).max(least(ratio)) + count(ratios.len()) / 2.0;
            whole((least(ratio) + slack).max(target))
        };
        Some(Self {
            most: ratios
                .iter()
                .map(|(zone, ratio)| (zone.clone(), most(*ratio)))
                .collect(),
        })
    }
}

/// The share of each zone in the CPUs (H22, H23).
fn ratios<'a>(nodes: impl Iterator<Item = &'a Node>) -> Option<BTreeMap<String, f64>> {
    let mut zones: BTreeMap<String, f64> = BTreeMap::new();
    for node in nodes.filter_map(NodeFacts::of) {
        if node.zone.is_empty() || node.milli_cpu <= 0.0 {
            return None;
        }
        *zones.entry(node.zone).or_default() += node.milli_cpu;
    }
    let total: f64 = zones.values().sum();
    (zones.len() >= 2).then(|| zones.into_iter().map(|(zone, cpu)| (zone, cpu / total)).collect())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of endpoints are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of endpoints, rounded down on purpose"
)]
fn whole(number: f64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(zone: &str, cpu: &str, ready: &str) -> Node {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "node", "labels": {"topology.kubernetes.io/zone": zone}},
            "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn spread(zones: usize, endpoints: usize) -> Option<Spread> {
        let nodes: Vec<_> = (0..zones)
            .map(|zone| node(&format!("zone-{zone}"), "1", "True"))
            .collect();
        Spread::of(nodes.iter(), endpoints)
    }

    /// H31: the numbers of endpoints that never get hints where zones are equal.
    #[test]
    fn h31_some_numbers_of_endpoints_get_no_hints() {
        let table: [(usize, &[usize]); 3] = [
            (2, &[1, 3, 5]),
            (3, &[1, 2, 4, 5, 8, 11]),
            (4, &[1, 2, 3, 5, 6, 7, 10, 11, 15]),
        ];
        for (zones, never) in table {
            let found: Vec<_> = (1..60)
                .filter(|endpoints| spread(zones, *endpoints).is_none())
                .collect();
            assert_eq!(found, never, "{zones} zones");
        }
    }

    /// T-NODE-02, -05, -06 and the like: what makes hints impossible.
    #[test]
    fn h22_h23_nodes_must_be_ready_in_two_zones_and_say_all() {
        let (a, b) = (node("a", "1", "True"), node("b", "1", "True"));
        assert!(Spread::of([&a, &b].into_iter(), 4).is_some());
        assert!(Spread::of([&a, &b, &node("", "1", "False")].into_iter(), 4).is_some());
        for spoiler in [node("", "1", "True"), node("b", "0", "True"), node("c", "", "True")] {
            assert_eq!(Spread::of([&a, &b, &spoiler].into_iter(), 4), None, "{spoiler:?}");
        }
        assert_eq!(Spread::of([&a, &node("b", "1", "Unknown")].into_iter(), 4), None);
    }
}
