//! Zone ratios from nodes.

use std::{collections::BTreeMap, sync::Arc};

use super::super::is_valid_hint_zone;

/// The fields of a node that matter for hints. A controller compares them to detect relevant node updates (HD5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo<'a> {
    /// Whether its first condition of type `Ready` is `True`.
    pub ready: bool,
    /// Whether it is a control plane node: it has the label `node-role.kubernetes.io/control-plane` or
    /// `node-role.kubernetes.io/master`, with any value.
    pub excluded: bool,
    /// Its zone. An empty zone, or one that is no label value, counts as none (R146).
    pub zone: Option<&'a str>,
    /// Its allocatable CPU in millicores, rounded up. Zero counts as none.
    pub cpu_milli: Option<u64>,
}

impl<'a> NodeInfo<'a> {
    /// A node that stands for a complete zone.
    pub(super) fn for_zone(zone: &'a str, weight: u64) -> Self {
        Self {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(weight),
        }
    }
}

/// The share of each zone in the CPUs, sorted by zone name, so that iteration is deterministic (HD14).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ZoneRatios(Vec<(Arc<str>, f64)>);

impl ZoneRatios {
    /// Ratios from nodes; none if nodes are incomplete or in fewer than two zones (H23).
    pub(super) fn from_nodes<'n>(
        nodes: impl IntoIterator<Item = NodeInfo<'n>>,
        ignore_incomplete: bool,
    ) -> Option<Self> {
        let cpu = cpu_by_zone(nodes, ignore_incomplete).filter(|cpu| cpu.len() > 1)?;
        let total = cpu.values().fold(0, |total: u64, cpu| total.saturating_add(*cpu));
        let ratio = |cpu| cpu_to_f64(cpu) / cpu_to_f64(total);
        Some(Self(
            cpu.into_iter().map(|(zone, cpu)| (zone.into(), ratio(cpu))).collect(),
        ))
    }

    #[cfg(test)]
    pub(super) fn from_pairs(ratios: &[(&str, f64)]) -> Self {
        Self(ratios.iter().map(|(zone, ratio)| ((*zone).into(), *ratio)).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, f64)> {
        self.0.iter().map(|(zone, ratio)| (zone, *ratio))
    }

    pub(super) fn zone(&self, index: usize) -> &Arc<str> {
        &self.0[index].0
    }

    /// The index of a zone. A linear scan, because there are few zones and equality is cheaper than order.
    pub(super) fn index(&self, zone: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| **name == *zone)
    }

    /// Looks up the zone of an endpoint; none if it is missing or invalid in hints. Zones with nodes are valid.
    #[inline]
    pub(super) fn lookup(&self, zone: Option<&str>) -> Option<ZoneLookup> {
        let zone = zone?;
        let known = self.index(zone).map(ZoneLookup::Known);
        known.or_else(|| is_valid_hint_zone(zone).then_some(ZoneLookup::WithoutNodes))
    }
}

/// The zone of an endpoint.
pub(super) enum ZoneLookup {
    /// The zone with this index.
    Known(usize),
    /// A zone without nodes.
    WithoutNodes,
}

/// The CPUs of each zone; none if a ready worker node lacks a zone or CPUs, because the sums are incomplete then (H22).
fn cpu_by_zone<'n>(
    nodes: impl IntoIterator<Item = NodeInfo<'n>>,
    ignore_incomplete: bool,
) -> Option<BTreeMap<&'n str, u64>> {
    let mut by_zone = BTreeMap::<&str, u64>::new();
    for node in nodes.into_iter().filter(|node| node.ready && !node.excluded) {
        let zone = node.zone.filter(|zone| is_valid_hint_zone(zone));
        let cpu = node.cpu_milli.filter(|cpu| *cpu > 0);
        match zone.zip(cpu) {
            Some((zone, cpu)) => {
                let sum = by_zone.entry(zone).or_default();
                *sum = sum.saturating_add(cpu);
            }
            None if ignore_incomplete => {}
            None => return None,
        }
    }
    Some(by_zone)
}

#[expect(clippy::cast_precision_loss, reason = "rounding to nearest is specified (H23)")]
fn cpu_to_f64(cpu_milli: u64) -> f64 {
    cpu_milli as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn node(zone: &'static str, cpu_milli: u64) -> NodeInfo<'static> {
        NodeInfo {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(cpu_milli),
        }
    }

    fn unready(node: NodeInfo<'static>) -> NodeInfo<'static> {
        NodeInfo { ready: false, ..node }
    }

    fn control_plane(node: NodeInfo<'static>) -> NodeInfo<'static> {
        NodeInfo { excluded: true, ..node }
    }

    fn seven() -> Vec<NodeInfo<'static>> {
        vec![
            node("a", 1000),
            node("a", 1000),
            node("a", 1000),
            node("a", 2000),
            node("b", 3000),
            node("b", 1500),
            node("c", 500),
        ]
    }

    fn halves() -> ZoneRatios {
        ZoneRatios::from_pairs(&[("a", 0.5), ("b", 0.5)])
    }

    /// Only ready worker nodes count (T-NODE-01…09, T-TOP-07…15).
    #[test]
    fn h23_ratios_count_ready_workers() {
        let (a, b) = (node("a", 1000), node("b", 1000));
        for (case, nodes, expected) in [
            ("none", vec![], None),
            ("one", vec![a], None),
            ("one zone", vec![a, a], None),
            ("two zones", vec![a, b], Some(halves())),
            ("unready", vec![unready(a), b], None),
            ("control plane", vec![a, control_plane(b)], None),
            ("another unready", vec![a, b, unready(b)], Some(halves())),
            ("another control plane", vec![a, b, control_plane(b)], Some(halves())),
            (
                "many",
                seven(),
                Some(ZoneRatios::from_pairs(&[("a", 0.5), ("b", 0.45), ("c", 0.05)])),
            ),
        ] {
            assert_eq!(ZoneRatios::from_nodes(nodes, false), expected, "{case}");
        }
    }

    #[test]
    fn h22_cpus_are_summed_by_zone() {
        let expected = BTreeMap::from([("a", 5000), ("b", 4500), ("c", 500)]);
        assert_eq!(cpu_by_zone(seven(), false), Some(expected));
    }

    /// One incomplete ready worker node makes ratios unavailable, unless such nodes are ignored (H22.3, HD11, R146).
    #[test]
    fn hd11_an_incomplete_node_makes_ratios_unavailable_unless_ignored() {
        let complete = node("a", 1000);
        for incomplete in [
            NodeInfo { zone: None, ..complete },
            NodeInfo {
                zone: Some(""),
                ..complete
            },
            NodeInfo {
                zone: Some("not a label"),
                ..complete
            },
            NodeInfo {
                cpu_milli: None,
                ..complete
            },
            NodeInfo {
                cpu_milli: Some(0),
                ..complete
            },
        ] {
            let with = |third| [complete, node("b", 1000), third];
            assert_eq!(ZoneRatios::from_nodes(with(incomplete), false), None, "{incomplete:?}");
            assert_eq!(
                ZoneRatios::from_nodes(with(incomplete), true),
                Some(halves()),
                "{incomplete:?}"
            );
            for ignored in [unready(incomplete), control_plane(incomplete)] {
                assert_eq!(
                    ZoneRatios::from_nodes(with(ignored), false),
                    Some(halves()),
                    "{ignored:?}"
                );
            }
        }
    }

    /// The order of nodes does not matter (T-X-13).
    #[test]
    fn hd14_node_order_does_not_matter() {
        let forward = seven();
        let backward: Vec<_> = forward.iter().rev().copied().collect();
        assert_eq!(
            ZoneRatios::from_nodes(forward, false),
            ZoneRatios::from_nodes(backward, false)
        );
    }

    #[test]
    fn cpu_sum_saturates() {
        let huge = node("a", u64::MAX);
        assert!(ZoneRatios::from_nodes([huge, huge, node("b", 1)], false).is_some());
    }
}
