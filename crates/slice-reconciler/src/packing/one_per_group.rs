//! Packing with one slice per group and a limit of endpoints (M78–M86).

use slice_core::{CompactSlice, EndpointSet, EndpointSource};

use super::matching::SliceMatch;
use crate::{
    Group, InvalidEndpoint, MetadataPolicy,
    lists::{NewSlice, SliceChanges, SliceUpdate},
    planned::PlannedEndpoint,
    validate::Validator,
};

/// Packs one group into its first slice by name. Published endpoints have priority over new ones.
pub(super) fn pack<'a, E: EndpointSource>(
    existing: &[&'a CompactSlice],
    mut group: Group<E>,
    cap: usize,
    policy: &MetadataPolicy,
    validator: &mut Validator,
) -> SliceChanges<'a, E> {
    let mut changes = SliceChanges::default();
    let Some((slice, duplicates)) = existing.split_first() else {
        let endpoints = limit(accepted(group.endpoints, validator), cap, cap, validator);
        changes.counts.added = endpoints.len();
        if !endpoints.is_empty() {
            changes.to_create.push(NewSlice {
                ports: group.ports,
                endpoints,
            });
        }
        return changes;
    };
    changes.to_delete.extend(duplicates);
    let mut matched = SliceMatch::default();
    matched.match_slice(slice, &mut group.endpoints);
    let others = accepted(group.endpoints, validator);
    let is_unchanged =
        matched.is_unchanged() && (1..=cap).contains(&matched.len()) && !policy.needs_update(&slice.metadata);
    if is_unchanged && (others.is_empty() || matched.len() == cap) {
        limit(others, 0, cap, validator);
        changes.unchanged.push(slice);
        return changes;
    }
    // First, because dropped endpoints make room for others.
    matched.drop_invalid(validator);
    let added = limit(others, cap.saturating_sub(matched.len()), cap, validator);
    changes.counts.added = added.len();
    changes.counts.removed = matched.removed;
    changes.counts.changed = matched.changed;
    if matched.len() + added.len() == 0 {
        // Endpoints of duplicate slices count as removed only if the whole group is removed (M82).
        changes.counts.removed = existing.iter().map(|slice| slice.endpoints.len()).sum();
        changes.to_delete = existing.to_vec();
        return changes;
    }
    let mut endpoints = matched.take(cap);
    endpoints.extend(added.into_iter().map(PlannedEndpoint::from_desired));
    let mut update = SliceUpdate::replacing(slice, &slice.ports, endpoints);
    policy.apply(&mut update.planned.metadata);
    for endpoint in matched.overflow(cap) {
        validator.reject(&endpoint, InvalidEndpoint::LimitExceeded(cap));
    }
    changes.to_update.push(update);
    changes
}

/// The valid endpoints, sorted.
fn accepted<E: EndpointSource>(endpoints: EndpointSet<E>, validator: &mut Validator) -> Vec<E> {
    let mut endpoints = endpoints.into_sorted();
    endpoints.retain(|endpoint| validator.accept(endpoint));
    endpoints
}

/// The first `room` endpoints. The others are rejected.
fn limit<E: EndpointSource>(mut endpoints: Vec<E>, room: usize, cap: usize, validator: &mut Validator) -> Vec<E> {
    for endpoint in endpoints.iter().skip(room) {
        validator.reject(endpoint, InvalidEndpoint::LimitExceeded(cap));
    }
    endpoints.truncate(room);
    endpoints
}
