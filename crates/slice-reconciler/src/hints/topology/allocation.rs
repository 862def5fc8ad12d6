//! How many endpoints each zone gets, and whether a slice fits in.

use slice_core::Hints;

use super::{float, listed::Hinted, nodes::Ratios};

/// How much more than its share an endpoint may have to carry.
const OVERLOAD: f64 = 0.2;

/// What is left of a share under the greatest overload. Multiply by this last, and never divide by 1.2 instead: endpoints
/// are counted up from the product, and a rounding error would count one more (trap 33).
const LEAST: f64 = 1.0 / (1.0 + OVERLOAD);

/// Why there are no topology hints; displayed as the owner is told (H29, H36).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HintsUnavailable {
    /// The nodes do not say enough. One zone in the whole cluster is reported like this too (HD12).
    #[error("Insufficient Node information: allocatable CPU or zone not specified on one or more nodes")]
    UnknownNodes,
    /// Nodes have not been looked at yet.
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
    /// The endpoints cannot be shared out so that none is overloaded.
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
    /// Nobody knows where an endpoint is.
    #[error("One or more endpoints do not have a zone specified")]
    EndpointWithoutZone,
}

impl HintsUnavailable {
    /// Whether other nodes could change it (HD3).
    pub(super) fn depends_on_nodes(self) -> bool {
        !matches!(self, Self::EndpointWithoutZone)
    }
}

/// How many endpoints a zone gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allocation {
    /// With fewer, its endpoints would be overloaded.
    pub(super) min: usize,
    /// With more, another zone would have too few.
    pub(super) max: usize,
    /// What would be fair.
    pub(super) target: f64,
}

/// One allocation per zone, in the order of the ratios (H27–H29).
pub(super) fn allocate(ratios: Option<&Ratios>, endpoints: usize) -> Result<Vec<Allocation>, HintsUnavailable> {
    let ratios = ratios.ok_or(HintsUnavailable::UnknownNodes)?;
    let zones = ratios.len();
    if zones < 2 {
        return Err(HintsUnavailable::OneZone);
    }
    if zones > endpoints {
        return Err(HintsUnavailable::TooFewEndpoints { endpoints, zones });
    }
    let mut allocations: Vec<_> = ratios.iter().map(|(_, ratio)| share(ratio, endpoints)).collect();
    let least: usize = allocations.iter().map(|allocation| allocation.min).sum();
    let slack = endpoints
        .checked_sub(least)
        .ok_or(HintsUnavailable::Overload { endpoints, zones })?;
    for allocation in &mut allocations {
        allocation.max = allocation.min + slack;
    }
    Ok(allocations)
}

fn share(ratio: f64, endpoints: usize) -> Allocation {
    let wanted = ratio * float(endpoints);
    let min = (wanted * LEAST).ceil();
    Allocation {
        min: count(min),
        max: 0,
        target: wanted.max(min),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number between nothing and the number of endpoints"
)]
fn count(endpoints: f64) -> usize {
    endpoints as usize
}

/// Whether some zone has fewer endpoints than it needs (H46, R103). More than needed is no trouble here.
pub(super) fn overloaded<Z: AsRef<str>>(counts: &[(Z, usize)], ratios: Option<&Ratios>) -> bool {
    if counts.is_empty() {
        return false;
    }
    let Some(ratios) = ratios.filter(|ratios| ratios.len() > 0) else {
        return true;
    };
    let total = float(counts.iter().map(|(_, count)| count).sum());
    ratios.iter().any(|(zone, ratio)| {
        let served = counts.iter().find(|(name, _)| name.as_ref() == &**zone);
        served.is_none_or(|(_, count)| float(*count) < (total * ratio * LEAST).ceil())
    })
}

/// Whether the hints of an unchanged slice fit in beside those `taken` so far (H34, R97); `in_slice` is then how many it
/// has for each zone.
pub(super) fn fits<'e>(
    slice: impl Iterator<Item = Hinted<'e>>,
    ratios: &Ratios,
    allocations: &[Allocation],
    taken: &[usize],
    in_slice: &mut [usize],
) -> bool {
    in_slice.fill(0);
    let both = |in_slice: &[usize]| {
        let mut zones = in_slice.iter().zip(taken).zip(allocations);
        zones.all(|((more, taken), allocation)| *more == 0 || more + taken <= allocation.max)
    };
    count_hints(slice, ratios, in_slice) && both(in_slice)
}

/// Counts a slice's hints by zone, unless there is a ready endpoint whose hints cannot stay: none, for a zone without nodes, or
/// for nodes, which readers would follow first (HD6).
pub(super) fn count_hints<'e>(
    mut slice: impl Iterator<Item = Hinted<'e>>,
    ratios: &Ratios,
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
