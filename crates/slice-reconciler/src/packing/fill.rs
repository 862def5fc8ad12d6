//! Fill slices up to a maximum, writing as few of them as possible (R80–R85, G18–G24).

use std::cmp::Reverse;

use slice_core::{CompactSlice, EndpointSet, EndpointSource};

use super::keep::Kept;
use crate::{
    Group, MetadataPolicy,
    check::Sieve,
    lists::{NewSlice, SliceChanges, Update},
    planned::{PlannedEndpoint, PlannedSlice},
};

pub(super) fn pack<'a, E: EndpointSource>(
    existing: &[&'a CompactSlice],
    mut group: Group<E>,
    max: usize,
    policy: &MetadataPolicy,
    sieve: &mut Sieve,
) -> SliceChanges<'a, E> {
    let mut packed = SliceChanges::default();
    let mut overflow = EndpointSet::default();
    let mut kept = Kept::default();
    for slice in existing {
        kept.look_at(slice, &mut group.endpoints);
        if !kept.is_intact() {
            kept.sift(sieve);
        }
        packed.changes.removed += kept.dropped;
        packed.changes.changed += kept.changed;
        match classify(slice, &kept, max, policy) {
            Class::Unchanged => packed.unchanged.push(slice),
            Class::Delete => packed.delete.push(slice),
            Class::Update(update) => {
                // What is too much may be in a later slice too, and then stays there.
                group.endpoints.extend(kept.beyond(max));
                overflow.extend(kept.beyond(max));
                packed.update.push(*update);
            }
        }
    }
    if group.endpoints.is_empty() {
        return packed;
    }
    let ports = group.ports;
    let sorted = group.endpoints.into_sorted();
    let mut rest = Vec::with_capacity(sorted.len());
    for endpoint in sorted {
        let passes = sieve.passes(&endpoint);
        match (!overflow.is_empty() && overflow.contains(&endpoint), passes) {
            (false, true) => packed.changes.added += 1,
            (true, false) => packed.changes.removed += 1,
            _ => {}
        }
        rest.extend(passes.then_some(endpoint));
    }
    let rest = fill_updates(&mut packed.update, &rest, max);
    place_rest(&mut packed, rest, max, sieve, |endpoints| NewSlice {
        ports: ports.clone(),
        endpoints: endpoints.to_vec(),
    });
    packed
}

enum Class<'a, E: EndpointSource> {
    Unchanged,
    Update(Box<Update<'a, E>>),
    Delete,
}

/// What becomes of a stored slice, by what is left of it. A slice that is written anyway also gets down to the maximum; none
/// is written just for that (R84, I3).
fn classify<'a, E: EndpointSource>(
    slice: &'a CompactSlice,
    kept: &Kept<'a, E>,
    max: usize,
    policy: &MetadataPolicy,
) -> Class<'a, E> {
    let intact = kept.is_intact();
    if intact && !policy.differs(&slice.metadata) {
        return Class::Unchanged;
    }
    if !intact && kept.len() == 0 {
        return Class::Delete;
    }
    let mut to = if intact && kept.len() <= max {
        // Only the metadata differs: the endpoints stay as they are, hints included.
        PlannedSlice::unchanged(slice)
    } else {
        PlannedSlice::replacing(slice, slice.ports.clone(), kept.first(max))
    };
    policy.apply(&mut to.metadata);
    Class::Update(Box::new(Update { from: slice, to }))
}

/// Slices that are written anyway are filled first, the fullest first (R82).
fn fill_updates<'r, E: EndpointSource>(updates: &mut [Update<'_, E>], rest: &'r [E], max: usize) -> &'r [E] {
    let mut rest = rest;
    let mut order: Vec<usize> = (0..updates.len()).collect();
    order.sort_by_key(|index| Reverse(updates[*index].to.endpoints.len()));
    for index in order {
        let endpoints = &mut updates[index].to.endpoints;
        let room = max.saturating_sub(endpoints.len()).min(rest.len());
        let (fit, left) = rest.split_at(room);
        endpoints.extend(fit.iter().cloned().map(PlannedEndpoint::from_desired));
        rest = left;
    }
    rest
}

/// Full slices are always new; a remainder goes into the one unchanged slice that it fills best, or into a new one (R83).
fn place_rest<E: EndpointSource>(
    packed: &mut SliceChanges<'_, E>,
    mut rest: &[E],
    max: usize,
    sieve: &mut Sieve,
    new: impl Fn(&[E]) -> NewSlice<E>,
) {
    while !rest.is_empty() {
        if rest.len() < max
            && let Some(index) = best_fit(&packed.unchanged, rest.len(), max)
        {
            let mut update = Update::unchanged(packed.unchanged.remove(index));
            let endpoints = &mut update.to.endpoints;
            let before = endpoints.len();
            endpoints.retain(|endpoint| sieve.passes(endpoint));
            packed.changes.removed += before - endpoints.len();
            endpoints.extend(rest.iter().cloned().map(PlannedEndpoint::from_desired));
            packed.update.push(update);
            return;
        }
        let (full, left) = rest.split_at(max.min(rest.len()));
        packed.create.push(new(full));
        rest = left;
    }
}

/// The slice that takes all of `count` and is fullest then.
fn best_fit(slices: &[&CompactSlice], count: usize, max: usize) -> Option<usize> {
    let filled = |slice: &CompactSlice| slice.endpoints.len() + count;
    let fitting = slices.iter().enumerate().filter(|(_, slice)| filled(slice) <= max);
    fitting
        .max_by_key(|(index, slice)| (filled(slice), Reverse(*index)))
        .map(|(index, _)| index)
}
