//! What nodes say about zones.

use std::{collections::BTreeMap, sync::Arc};

use super::super::can_be_hinted;

/// What matters of a node.
///
/// A controller compares these to see whether an update of a node matters (HD5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo<'a> {
    /// Whether its first condition of type `Ready` is `True`.
    pub ready: bool,
    /// Whether it is set apart as a control plane: it has the label `node-role.kubernetes.io/control-plane` or
    /// `node-role.kubernetes.io/master`, with whatever value.
    pub excluded: bool,
    /// Its zone; one that hints cannot name, being empty or no label value, is as good as none (R146).
    pub zone: Option<&'a str>,
    /// Its allocatable CPU in thousandths, rounded up; zero is as good as none.
    pub cpu_milli: Option<u64>,
}

impl<'a> NodeInfo<'a> {
    /// A node that has all that there is of a zone.
    pub(super) fn standing_for(zone: &'a str, weight: u64) -> Self {
        Self {
            ready: true,
            excluded: false,
            zone: Some(zone),
            cpu_milli: Some(weight),
        }
    }
}

/// The share of each zone in the CPUs, in the order of the zones' names, so that whoever walks them does it the same way
/// each time (HD14).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ratios(Vec<(Arc<str>, f64)>);

impl Ratios {
    /// Nothing when the nodes do not say enough (H23).
    pub(super) fn of<'n>(nodes: impl IntoIterator<Item = NodeInfo<'n>>, ignore_incomplete: bool) -> Option<Self> {
        let cpu = cpu_by_zone(nodes, ignore_incomplete).filter(|cpu| cpu.len() > 1)?;
        let total = cpu.values().fold(0, |total: u64, cpu| total.saturating_add(*cpu));
        let ratio = |cpu| precise(cpu) / precise(total);
        Some(Self(
            cpu.into_iter().map(|(zone, cpu)| (zone.into(), ratio(cpu))).collect(),
        ))
    }

    #[cfg(test)]
    pub(super) fn known(ratios: &[(&str, f64)]) -> Self {
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

    /// The place of a zone, unless it has no share. There are few, and whether two are equal is told faster than their order.
    pub(super) fn index(&self, zone: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| **name == *zone)
    }

    /// Where an endpoint in a zone is, if hints can name that. Zones with nodes can be named.
    #[inline]
    pub(super) fn home(&self, zone: Option<&str>) -> Option<Home> {
        let zone = zone?;
        let known = self.index(zone).map(Home::Zone);
        known.or_else(|| can_be_hinted(zone).then_some(Home::Elsewhere))
    }
}

/// Where an endpoint is.
pub(super) enum Home {
    /// In the zone with nodes at this place.
    Zone(usize),
    /// In a zone without nodes.
    Elsewhere,
}

/// The CPUs of each zone, or nothing when a node that counts lacks a zone or CPUs (H22): who knows how many are missing.
fn cpu_by_zone<'n>(
    nodes: impl IntoIterator<Item = NodeInfo<'n>>,
    ignore_incomplete: bool,
) -> Option<BTreeMap<&'n str, u64>> {
    let mut by_zone = BTreeMap::<&str, u64>::new();
    for node in nodes.into_iter().filter(|node| node.ready && !node.excluded) {
        let zone = node.zone.filter(|zone| can_be_hinted(zone));
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

#[expect(
    clippy::cast_precision_loss,
    reason = "rounding to the nearest is what is specified (H23)"
)]
fn precise(cpu_milli: u64) -> f64 {
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

    fn halves() -> Ratios {
        Ratios::known(&[("a", 0.5), ("b", 0.5)])
    }

    /// T-NODE-01…09, T-TOP-07…15.
    #[test]
    fn h23_ratios_are_shares_of_ready_workers() {
        let (a, b) = (node("a", 1000), node("b", 1000));
        for (what, nodes, expected) in [
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
                Some(Ratios::known(&[("a", 0.5), ("b", 0.45), ("c", 0.05)])),
            ),
        ] {
            assert_eq!(Ratios::of(nodes, false), expected, "{what}");
        }
    }

    #[test]
    fn h22_cpus_are_summed_by_zone() {
        let expected = BTreeMap::from([("a", 5000), ("b", 4500), ("c", 500)]);
        assert_eq!(cpu_by_zone(seven(), false), Some(expected));
    }

    /// H22.3, HD11, R146; what does not count may lack anything.
    #[test]
    fn hd11_a_node_without_zone_or_cpu_spoils_everything_unless_told_otherwise() {
        let whole = node("a", 1000);
        for incomplete in [
            NodeInfo { zone: None, ..whole },
            NodeInfo {
                zone: Some(""),
                ..whole
            },
            NodeInfo {
                zone: Some("not a label"),
                ..whole
            },
            NodeInfo {
                cpu_milli: None,
                ..whole
            },
            NodeInfo {
                cpu_milli: Some(0),
                ..whole
            },
        ] {
            let with = |third| [whole, node("b", 1000), third];
            assert_eq!(Ratios::of(with(incomplete), false), None, "{incomplete:?}");
            assert_eq!(Ratios::of(with(incomplete), true), Some(halves()), "{incomplete:?}");
            for ignored in [unready(incomplete), control_plane(incomplete)] {
                assert_eq!(Ratios::of(with(ignored), false), Some(halves()), "{ignored:?}");
            }
        }
    }

    /// T-X-13: the order of nodes does not matter.
    #[test]
    fn hd14_nodes_come_in_any_order() {
        let forth = seven();
        let back: Vec<_> = forth.iter().rev().copied().collect();
        assert_eq!(Ratios::of(forth, false), Ratios::of(back, false));
    }

    #[test]
    fn more_cpu_than_can_be_counted_is_not_a_panic() {
        let huge = node("a", u64::MAX);
        assert!(Ratios::of([huge, huge, node("b", 1)], false).is_some());
    }
}
