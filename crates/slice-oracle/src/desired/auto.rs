//! Bounds for the hints of the topology mode Auto (H22–H31).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

use super::quantity::parse_cpu_millis;
use crate::object::label;
use crate::well_known::{CONTROL_PLANE_ROLES, ZONE};

/// Overload threshold: how much more load per endpoint than the average a zone may get.
const OVERLOAD: f64 = 0.2;

/// Topology input of a node. A node with a missing zone or CPU quantity disables hints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeInfo {
    zone: String,
    milli_cpu: f64,
}

impl NodeInfo {
    /// `None` for an excluded node: of the control plane, or not ready.
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
            milli_cpu: cpu.and_then(parse_cpu_millis).unwrap_or_default(),
        })
    }
}

/// Maximum number of endpoints hinted to each zone.
#[derive(Debug, PartialEq)]
pub(crate) struct ZoneLimits {
    pub(crate) max: BTreeMap<String, usize>,
}

impl ZoneLimits {
    /// The limits for a number of ready endpoints; `None` if Auto sets no hints (H29).
    pub(crate) fn of<'a>(nodes: impl Iterator<Item = &'a Node>, endpoints: usize) -> Option<Self> {
        let ratios = ratios(nodes)?;
        if ratios.len() > endpoints {
            return None;
        }
        let desired = |ratio: f64| ratio * to_f64(endpoints);
        let min = |ratio: f64| (desired(ratio) * (1.0 / (1.0 + OVERLOAD))).ceil();
        let slack = to_f64(endpoints) - ratios.values().map(|ratio| min(*ratio)).sum::<f64>();
        if slack < 0.0 {
            return None;
        }
        let max = |ratio: f64| -> usize {
            // Rebalancing may leave every other zone half an endpoint short (H49).
            let target = desired(ratio).max(min(ratio)) + to_f64(ratios.len()) / 2.0;
            floor((min(ratio) + slack).max(target))
        };
        Some(Self {
            max: ratios.iter().map(|(zone, ratio)| (zone.clone(), max(*ratio))).collect(),
        })
    }
}

/// The CPU ratio of each zone (H22, H23).
fn ratios<'a>(nodes: impl Iterator<Item = &'a Node>) -> Option<BTreeMap<String, f64>> {
    let mut zones: BTreeMap<String, f64> = BTreeMap::new();
    for node in nodes.filter_map(NodeInfo::of) {
        if node.zone.is_empty() || node.milli_cpu <= 0.0 {
            return None;
        }
        *zones.entry(node.zone).or_default() += node.milli_cpu;
    }
    let total: f64 = zones.values().sum();
    (zones.len() >= 2).then(|| zones.into_iter().map(|(zone, cpu)| (zone, cpu / total)).collect())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of endpoints are far below 2^52")]
fn to_f64(number: usize) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of endpoints, rounded down on purpose"
)]
fn floor(number: f64) -> usize {
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

    fn zone_limits(zones: usize, endpoints: usize) -> Option<ZoneLimits> {
        let nodes: Vec<_> = (0..zones)
            .map(|zone| node(&format!("zone-{zone}"), "1", "True"))
            .collect();
        ZoneLimits::of(nodes.iter(), endpoints)
    }

    /// Numbers of endpoints that never get hints with equal zones (H31).
    #[test]
    fn h31_some_numbers_of_endpoints_get_no_hints() {
        let table: [(usize, &[usize]); 3] = [
            (2, &[1, 3, 5]),
            (3, &[1, 2, 4, 5, 8, 11]),
            (4, &[1, 2, 3, 5, 6, 7, 10, 11, 15]),
        ];
        for (zones, never) in table {
            let found: Vec<_> = (1..60)
                .filter(|endpoints| zone_limits(zones, *endpoints).is_none())
                .collect();
            assert_eq!(found, never, "{zones} zones");
        }
    }

    /// Nodes that disable hints (T-NODE-02, -05, -06 and similar).
    #[test]
    fn h22_h23_hints_need_ready_nodes_in_two_zones_with_zone_and_cpu() {
        let (a, b) = (node("a", "1", "True"), node("b", "1", "True"));
        assert!(ZoneLimits::of([&a, &b].into_iter(), 4).is_some());
        assert!(ZoneLimits::of([&a, &b, &node("", "1", "False")].into_iter(), 4).is_some());
        for invalid in [node("", "1", "True"), node("b", "0", "True"), node("c", "", "True")] {
            assert_eq!(ZoneLimits::of([&a, &b, &invalid].into_iter(), 4), None, "{invalid:?}");
        }
        assert_eq!(ZoneLimits::of([&a, &node("b", "1", "Unknown")].into_iter(), 4), None);
    }
}
