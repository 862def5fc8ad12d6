//! Allocation of endpoints to zones.

use slice_core::Hints;

use super::{nodes::ZoneRatios, to_f64, views::HintView};

/// The accepted overload of an endpoint, relative to its share.
const OVERLOAD_THRESHOLD: f64 = 0.2;

/// The least accepted part of a share. Multiply by it last, and never divide by 1.2 instead: the product is rounded up, and a
/// rounding error would add one endpoint (service-slices.md §21, 33).
const MIN_SHARE: f64 = 1.0 / (1.0 + OVERLOAD_THRESHOLD);

/// Why there are no topology hints. The display is the message of the event (H29, H36).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HintsUnavailable {
    /// Nodes lack zones or CPUs, or all are in one zone (HD12).
    #[error("Insufficient Node information: allocatable CPU or zone not specified on one or more nodes")]
    UnknownNodes,
    /// The nodes are not known yet.
    #[error("Nodes only ready in one zone")]
    OneZone,
    /// There are fewer endpoints than zones.
    #[error("Insufficient number of endpoints ({endpoints} endpoints, {zones} zones)")]
    TooFewEndpoints {
        /// Ready endpoints.
        endpoints: usize,
        /// Zones with nodes.
        zones: usize,
    },
    /// Every allocation exceeds the overload threshold of an endpoint.
    #[error(
        "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold \
         ({endpoints} endpoints, {zones} zones)"
    )]
    Overload {
        /// Ready endpoints.
        endpoints: usize,
        /// Zones with nodes.
        zones: usize,
    },
    /// A ready endpoint has no zone.
    #[error("One or more endpoints do not have a zone specified")]
    EndpointWithoutZone,
}

impl HintsUnavailable {
    /// Whether a change of nodes can resolve it (HD3).
    pub(super) fn depends_on_nodes(self) -> bool {
        !matches!(self, Self::EndpointWithoutZone)
    }
}

/// The number of endpoints of a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allocation {
    /// Below this its endpoints are overloaded.
    pub(super) min: usize,
    /// Above this another zone falls below its minimum.
    pub(super) max: usize,
    /// The share in proportion to the CPUs, at least `min`.
    pub(super) target: f64,
}

/// One allocation per zone, in the order of the ratios (H27–H29).
pub(super) fn allocate(ratios: Option<&ZoneRatios>, endpoints: usize) -> Result<Vec<Allocation>, HintsUnavailable> {
    let ratios = ratios.ok_or(HintsUnavailable::UnknownNodes)?;
    let zones = ratios.len();
    if zones < 2 {
        return Err(HintsUnavailable::OneZone);
    }
    if zones > endpoints {
        return Err(HintsUnavailable::TooFewEndpoints { endpoints, zones });
    }
    let allocations = ratios.iter().map(|(_, ratio)| zone_allocation(ratio, endpoints));
    let mut allocations: Vec<_> = allocations.collect();
    let min_total: usize = allocations.iter().map(|allocation| allocation.min).sum();
    let slack = endpoints
        .checked_sub(min_total)
        .ok_or(HintsUnavailable::Overload { endpoints, zones })?;
    for allocation in &mut allocations {
        allocation.max = allocation.min + slack;
    }
    Ok(allocations)
}

fn zone_allocation(ratio: f64, endpoints: usize) -> Allocation {
    let share = ratio * to_f64(endpoints);
    let min = (share * MIN_SHARE).ceil();
    Allocation {
        min: to_usize(min),
        max: 0,
        target: share.max(min),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number from 0 to the number of endpoints"
)]
fn to_usize(endpoints: f64) -> usize {
    endpoints as usize
}

/// Whether some zone has fewer endpoints than its minimum (H46, R103). The maximum does not matter here.
pub(super) fn is_overloaded<Z: AsRef<str>>(counts: &[(Z, usize)], ratios: Option<&ZoneRatios>) -> bool {
    if counts.is_empty() {
        return false;
    }
    let Some(ratios) = ratios.filter(|ratios| ratios.len() > 0) else {
        return true;
    };
    let total = to_f64(counts.iter().map(|(_, count)| count).sum());
    ratios.iter().any(|(zone, ratio)| {
        let hinted = counts.iter().find(|(name, _)| name.as_ref() == &**zone);
        hinted.is_none_or(|(_, count)| to_f64(*count) < (total * ratio * MIN_SHARE).ceil())
    })
}

/// Whether the hints of a slice, added to those `used` by earlier slices, stay within the allocations (H34, R97). `in_slice`
/// receives its hints per zone.
pub(super) fn fits<'e>(
    slice: impl Iterator<Item = HintView<'e>>,
    ratios: &ZoneRatios,
    allocations: &[Allocation],
    used: &[usize],
    in_slice: &mut [usize],
) -> bool {
    in_slice.fill(0);
    let within = |in_slice: &[usize]| {
        let mut zones = in_slice.iter().zip(used).zip(allocations);
        zones.all(|((more, used), allocation)| *more == 0 || more + used <= allocation.max)
    };
    count_hints(slice, ratios, in_slice) && within(in_slice)
}

/// Counts the hints of a slice per zone. Returns whether the hints of all ready endpoints can stay: not if they are
/// missing, for a zone without nodes, or for nodes, which consumers prefer over zones (HD6).
pub(super) fn count_hints<'e>(
    mut slice: impl Iterator<Item = HintView<'e>>,
    ratios: &ZoneRatios,
    counts: &mut [usize],
) -> bool {
    let mut count = |zone: &str| {
        let zone = ratios.index(zone);
        zone.map(|zone| counts[zone] += 1).is_some()
    };
    slice.all(|endpoint| {
        let can_stay = |hints: &&Hints| !hints.for_zones.is_empty() && hints.for_nodes.is_empty();
        let hints = endpoint.hints.filter(can_stay);
        !endpoint.is_ready || hints.is_some_and(|hints| hints.for_zones.iter().all(|zone| count(zone)))
    })
}

#[cfg(test)]
mod tests;
