//! Hints for zones on the slices of one owner and address type.

use std::sync::Arc;

use slice_core::{Endpoint, Slice};

use super::{
    super::{hints_for, is_meant_for, is_ready, named},
    Refusal,
    allocation::{Allocation, allocate, fits},
    balance::{Moves, balance},
    float,
    nodes::Ratios,
};
use crate::lists::Lists;

/// How many endpoints are meant for each zone, in the order of the zones' names.
pub(super) type Counts = Vec<(Arc<str>, usize)>;

/// How many endpoints are ready, in slices to be written or not.
pub(super) fn ready_endpoints(lists: &Lists<'_>) -> usize {
    let written = lists.create.iter().chain(&lists.update);
    let slices = written.chain(lists.unchanged.iter().copied());
    slices.flat_map(ready).count()
}

fn ready(slice: &Slice) -> impl Iterator<Item = &Endpoint> {
    slice.endpoints.iter().filter(|endpoint| is_ready(endpoint))
}

/// Gives every ready endpoint of the slices to be written one zone, and writes those unchanged slices too that do not fit
/// in (H33–H40). Does nothing to them when it refuses.
pub(super) fn assign(ratios: Option<&Ratios>, endpoints: usize, lists: &mut Lists<'_>) -> Result<Counts, Refusal> {
    let allocations = allocate(ratios, endpoints)?;
    let ratios = ratios.ok_or(Refusal::UnknownNodes)?;
    let mut counts = vec![0; ratios.len()];
    let misfits = misfits(&lists.unchanged, ratios, &allocations, &mut counts);
    let reopened = misfits.iter().map(|index| lists.unchanged[*index]);
    // Before anything is copied: with a zone missing, nothing would come of it (HD7).
    let strays = count_own_zones(
        lists.create.iter().chain(&lists.update).chain(reopened),
        ratios,
        &mut counts,
    )?;
    let moves = balance(
        &allocations
            .iter()
            .map(|allocation| allocation.target)
            .collect::<Vec<_>>(),
        &counts.iter().map(|count| float(*count)).collect::<Vec<_>>(),
        strays,
    );
    let first = lists.update.len();
    lists
        .update
        .extend(misfits.iter().map(|index| lists.unchanged[*index].clone()));
    place(
        lists.create.iter_mut().chain(&mut lists.update),
        ratios,
        moves,
        &mut counts,
    );
    put_back(lists, first, &misfits);
    Ok(ratios.iter().map(|(zone, _)| zone.clone()).zip(counts).collect())
}

/// The places of unchanged slices that cannot stay as they are; what the others have is counted. Earlier slices have a
/// better chance (H34).
fn misfits(unchanged: &[&Slice], ratios: &Ratios, allocations: &[Allocation], counts: &mut [usize]) -> Vec<usize> {
    let mut in_slice = vec![0; counts.len()];
    let mut misfits = Vec::new();
    for (index, slice) in unchanged.iter().enumerate() {
        if fits(slice, ratios, allocations, counts, &mut in_slice) {
            for (count, more) in counts.iter_mut().zip(&in_slice) {
                *count += more;
            }
        } else {
            misfits.push(index);
        }
    }
    misfits
}

/// Counts ready endpoints for the zones that they are in; answers how many are in zones without nodes.
fn count_own_zones<'s>(
    slices: impl Iterator<Item = &'s Slice>,
    ratios: &Ratios,
    counts: &mut [usize],
) -> Result<usize, Refusal> {
    let mut strays = 0;
    for endpoint in slices.flat_map(ready) {
        let zone = named(endpoint.zone.as_ref()).ok_or(Refusal::EndpointWithoutZone)?;
        *ratios.index(zone).map_or(&mut strays, |zone| &mut counts[zone]) += 1;
    }
    Ok(strays)
}

/// Writes the hints: the endpoint's own zone, or, as long as that has to give, the first that has to receive (H36, H52).
/// Endpoints that are not ready lose theirs (HD1).
pub(super) fn place<'s>(
    slices: impl Iterator<Item = &'s mut Slice>,
    ratios: &Ratios,
    moves: Moves,
    counts: &mut [usize],
) {
    let Moves { mut give, mut receive } = moves;
    for endpoint in slices.flat_map(|slice| &mut slice.endpoints) {
        let own = named(endpoint.zone.as_ref()).filter(|_| is_ready(endpoint));
        let Some(own) = own else {
            endpoint.hints = None;
            continue;
        };
        let home = ratios.index(own);
        let gives = home.is_none_or(|home| give[home] > 0);
        let to = if gives {
            receive.iter().position(|left| *left > 0)
        } else {
            None
        };
        if let Some(to) = to {
            receive[to] -= 1;
            counts[to] += 1;
            if let Some(home) = home {
                give[home] -= 1;
                counts[home] -= 1;
            }
        }
        let zone = Some(to.map_or(own, |to| ratios.zone(to)));
        if !is_meant_for(endpoint, zone, None) {
            endpoint.hints = hints_for(zone, None);
        }
    }
}

/// A slice that was reopened, from place `first` of the update list on, and came out as it was needs no write.
fn put_back(lists: &mut Lists<'_>, first: usize, misfits: &[usize]) {
    if misfits.is_empty() {
        return;
    }
    let mut written = vec![false; lists.unchanged.len()];
    for (slice, index) in lists.update.split_off(first).into_iter().zip(misfits) {
        written[*index] = slice.endpoints != lists.unchanged[*index].endpoints;
        if written[*index] {
            lists.update.push(slice);
        }
    }
    let mut written = written.into_iter();
    lists.unchanged.retain(|_| written.next() == Some(false));
}
