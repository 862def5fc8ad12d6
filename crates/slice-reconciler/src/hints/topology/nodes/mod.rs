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
mod tests;
