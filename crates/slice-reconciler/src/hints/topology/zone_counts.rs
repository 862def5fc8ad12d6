//! Endpoint counts per zone, before and after endpoints are moved.

use slice_core::EndpointSource;

use super::{
    HintsUnavailable,
    allocation::{Allocation, count_hints},
    balance::{Moves, balance},
    nodes::{ZoneLookup, ZoneRatios},
    to_f64,
    views::SliceView,
};

/// Ready endpoints per zone while the hints of some slices are reassigned.
pub(super) struct ZoneCounts {
    /// Endpoints of slices that keep their hints, by hinted zone.
    hinted: Vec<usize>,
    /// Endpoints of reassigned slices, by their own zone.
    local: Vec<usize>,
    /// Endpoints of reassigned slices in zones without nodes.
    unassigned: usize,
}

impl ZoneCounts {
    /// Counts the ready endpoints of slices, each with whether its hints are reassigned.
    pub(super) fn count<'s, E: EndpointSource + 's>(
        ratios: &ZoneRatios,
        slices: impl Iterator<Item = (SliceView<'s, E>, bool)>,
    ) -> Result<Self, HintsUnavailable> {
        let mut counts = Self {
            hinted: vec![0; ratios.len()],
            local: vec![0; ratios.len()],
            unassigned: 0,
        };
        for (slice, reassign) in slices {
            if !reassign {
                count_hints(slice.endpoints(), ratios, &mut counts.hinted);
                continue;
            }
            let mut ready = slice.endpoints().filter(|endpoint| endpoint.is_ready);
            ready.try_for_each(|endpoint| {
                let zone = ratios.lookup(endpoint.zone);
                match zone.ok_or(HintsUnavailable::EndpointWithoutZone)? {
                    ZoneLookup::Known(zone) => counts.local[zone] += 1,
                    ZoneLookup::WithoutNodes => counts.unassigned += 1,
                }
                Ok(())
            })?;
        }
        Ok(counts)
    }

    /// The moves that bring each zone near to its target.
    pub(super) fn balance(&self, allocations: &[Allocation]) -> Moves {
        let target: Vec<f64> = allocations.iter().map(|allocation| allocation.target).collect();
        let zones = self.hinted.iter().zip(&self.local);
        let current: Vec<f64> = zones.map(|(hinted, local)| to_f64(hinted + local)).collect();
        balance(&target, &current, self.unassigned)
    }

    /// Endpoints per zone after these moves, limited by the endpoints of reassigned slices in the zones with a surplus (H53).
    pub(super) fn after(&self, moves: &Moves) -> Vec<usize> {
        let zones = self.local.iter().zip(&moves.give);
        let given: Vec<usize> = zones.map(|(local, give)| *local.min(give)).collect();
        let mut moving = given.iter().sum::<usize>() + self.unassigned;
        let zones = self.hinted.iter().zip(&self.local).zip(given).zip(&moves.receive);
        zones
            .map(|(((hinted, local), given), receive)| {
                let received = moving.min(*receive);
                moving -= received;
                hinted + local - given + received
            })
            .collect()
    }
}

/// Endpoints above the maximum of their zones.
pub(super) fn excess(counts: &[usize], allocations: &[Allocation]) -> usize {
    let zones = counts.iter().zip(allocations);
    zones
        .map(|(count, allocation)| count.saturating_sub(allocation.max))
        .sum()
}
