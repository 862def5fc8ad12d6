//! Packing that fills slices up to a maximum with as few writes as possible (R80–R85, G18–G24).

use std::cmp::Reverse;

use slice_core::{CompactSlice, EndpointSet, EndpointSource, PortMapKey};

use super::matching::SliceMatch;
use crate::{
    Group, MetadataPolicy,
    lists::{NewSlice, SliceChanges, SliceUpdate},
    planned::PlannedEndpoint,
    validate::Validator,
};

/// Packs one group:
/// 1. Match each existing slice with the desired endpoints: it is unchanged, updated or deleted.
/// 2. Validate the remaining desired endpoints, which are in no slice yet.
/// 3. Fill the updated slices with them, the fullest first.
/// 4. Put the others into new full slices, and the remainder into the unchanged slice that it fills best.
pub(super) fn pack<'a, E: EndpointSource>(
    existing: &[&'a CompactSlice],
    mut group: Group<E>,
    max: usize,
    policy: &MetadataPolicy,
    validator: &mut Validator,
) -> SliceChanges<'a, E> {
    let mut changes = SliceChanges::default();
    let mut overflow = EndpointSet::default();
    let mut matched = SliceMatch::default();
    // 1. Match.
    for slice in existing {
        matched.match_slice(slice, &mut group.endpoints);
        if !matched.is_unchanged() {
            matched.drop_invalid(validator);
        }
        changes.counts.removed += matched.removed;
        changes.counts.changed += matched.changed;
        match classify(slice, &matched, max, policy) {
            Class::Unchanged => changes.unchanged.push(slice),
            Class::Delete => changes.to_delete.push(slice),
            Class::Update(update) => {
                // A later slice may have these endpoints too. Then they stay there.
                group.endpoints.extend(matched.overflow(max));
                overflow.extend(matched.overflow(max));
                changes.to_update.push(*update);
            }
        }
    }
    if group.endpoints.is_empty() {
        return changes;
    }
    // 2. Validate.
    let sorted = group.endpoints.into_sorted();
    let mut remainder = Vec::with_capacity(sorted.len());
    for endpoint in sorted {
        let is_valid = validator.accept(&endpoint);
        match (!overflow.is_empty() && overflow.contains(&endpoint), is_valid) {
            (false, true) => changes.counts.added += 1,
            (true, false) => changes.counts.removed += 1,
            _ => {}
        }
        remainder.extend(is_valid.then_some(endpoint));
    }
    // 3. Fill updated slices.
    let remainder = fill_updates(&mut changes.to_update, &remainder, max);
    // 4. Place the remainder.
    place_remainder(&mut changes, remainder, &group.ports, max, validator);
    changes
}

enum Class<'a, E: EndpointSource> {
    Unchanged,
    Update(Box<SliceUpdate<'a, E>>),
    Delete,
}

/// Classifies an existing slice by its match. A slice that is updated also shrinks to the maximum; none is updated only for
/// that (R84, I3).
fn classify<'a, E: EndpointSource>(
    slice: &'a CompactSlice,
    matched: &SliceMatch<'a, E>,
    max: usize,
    policy: &MetadataPolicy,
) -> Class<'a, E> {
    let is_unchanged = matched.is_unchanged();
    if is_unchanged && !policy.needs_update(&slice.metadata) {
        return Class::Unchanged;
    }
    if !is_unchanged && matched.len() == 0 {
        return Class::Delete;
    }
    let mut update = if is_unchanged && matched.len() <= max {
        // Only the metadata differs: the endpoints stay verbatim, hints included.
        SliceUpdate::unchanged(slice)
    } else {
        SliceUpdate::replacing(slice, &slice.ports, matched.take(max))
    };
    policy.apply(&mut update.planned.metadata);
    Class::Update(Box::new(update))
}

/// Fills slices that are updated anyway, the fullest first (R82). Returns the remainder.
fn fill_updates<'r, E: EndpointSource>(
    updates: &mut [SliceUpdate<'_, E>],
    mut remainder: &'r [E],
    max: usize,
) -> &'r [E] {
    let mut order: Vec<usize> = (0..updates.len()).collect();
    order.sort_by_key(|index| Reverse(updates[*index].planned.endpoints.len()));
    for index in order {
        let endpoints = &mut updates[index].planned.endpoints;
        let room = max.saturating_sub(endpoints.len()).min(remainder.len());
        let (fit, left) = remainder.split_at(room);
        endpoints.extend(fit.iter().cloned().map(PlannedEndpoint::from_desired));
        remainder = left;
    }
    remainder
}

/// Creates full slices. The last, partial one goes into the unchanged slice that it fills best, or into a new slice (R83).
fn place_remainder<E: EndpointSource>(
    changes: &mut SliceChanges<'_, E>,
    mut remainder: &[E],
    ports: &PortMapKey,
    max: usize,
    validator: &mut Validator,
) {
    while !remainder.is_empty() {
        if remainder.len() < max
            && let Some(index) = best_fit(&changes.unchanged, remainder.len(), max)
        {
            let mut update = SliceUpdate::unchanged(changes.unchanged.remove(index));
            let endpoints = &mut update.planned.endpoints;
            let before = endpoints.len();
            endpoints.retain(|endpoint| validator.accept(endpoint));
            changes.counts.removed += before - endpoints.len();
            endpoints.extend(remainder.iter().cloned().map(PlannedEndpoint::from_desired));
            changes.to_update.push(update);
            return;
        }
        let (full, left) = remainder.split_at(max.min(remainder.len()));
        changes.to_create.push(NewSlice {
            ports: ports.clone(),
            endpoints: full.to_vec(),
        });
        remainder = left;
    }
}

/// The index of the slice that has room for `count` more endpoints and is fullest with them.
fn best_fit(slices: &[&CompactSlice], count: usize, max: usize) -> Option<usize> {
    let filled = |slice: &CompactSlice| slice.endpoints.len() + count;
    let fitting = slices.iter().enumerate().filter(|(_, slice)| filled(slice) <= max);
    fitting
        .max_by_key(|(index, slice)| (filled(slice), Reverse(*index)))
        .map(|(index, _)| index)
}
