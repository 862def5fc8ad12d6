//! How many endpoints each zone has, before and after some change zones.

use slice_core::EndpointSource;

use super::{
    HintsUnavailable,
    allocation::{Allocation, count_hints},
    balance::{Moves, balance},
    float,
    listed::Listed,
    nodes::{Home, Ratios},
};

/// How many endpoints each zone has while some slices are open, that is, while their hints are given anew.
pub(super) struct Shares {
    /// Endpoints of the other slices, by the zones that they are meant for.
    held: Vec<usize>,
    /// Endpoints of open slices, by the zones that they are in.
    own: Vec<usize>,
    /// Endpoints of open slices in zones without nodes.
    strays: usize,
}

impl Shares {
    /// Counts ready endpoints of slices and whether each is open.
    pub(super) fn count<'s, E: EndpointSource + 's>(
        ratios: &Ratios,
        slices: impl Iterator<Item = (Listed<'s, E>, bool)>,
    ) -> Result<Self, HintsUnavailable> {
        let mut shares = Self {
            held: vec![0; ratios.len()],
            own: vec![0; ratios.len()],
            strays: 0,
        };
        for (slice, open) in slices {
            if !open {
                count_hints(slice.endpoints(), ratios, &mut shares.held);
                continue;
            }
            let mut ready = slice.endpoints().filter(|endpoint| endpoint.is_ready);
            ready.try_for_each(|endpoint| {
                match ratios
                    .home(endpoint.zone)
                    .ok_or(HintsUnavailable::EndpointWithoutZone)?
                {
                    Home::Zone(zone) => shares.own[zone] += 1,
                    Home::Elsewhere => shares.strays += 1,
                }
                Ok(())
            })?;
        }
        Ok(shares)
    }

    /// Which endpoints of open slices should change zones.
    pub(super) fn balance(&self, allocations: &[Allocation]) -> Moves {
        let target: Vec<f64> = allocations.iter().map(|allocation| allocation.target).collect();
        let have: Vec<f64> = self
            .held
            .iter()
            .zip(&self.own)
            .map(|(held, own)| float(held + own))
            .collect();
        balance(&target, &have, self.strays)
    }

    /// What each zone has when these moves are made, as far as open slices hold enough endpoints of the zones that give (H53).
    pub(super) fn after(&self, moves: &Moves) -> Vec<usize> {
        let given: Vec<usize> = self
            .own
            .iter()
            .zip(&moves.give)
            .map(|(own, give)| *own.min(give))
            .collect();
        let mut moving = given.iter().sum::<usize>() + self.strays;
        let zones = self.held.iter().zip(&self.own).zip(given).zip(&moves.receive);
        zones
            .map(|(((held, own), given), receive)| {
                let received = moving.min(*receive);
                moving -= received;
                held + own - given + received
            })
            .collect()
    }
}

/// How many endpoints are in zones that have more than they may.
pub(super) fn excess(counts: &[usize], allocations: &[Allocation]) -> usize {
    let zones = counts.iter().zip(allocations);
    zones
        .map(|(count, allocation)| count.saturating_sub(allocation.max))
        .sum()
}
