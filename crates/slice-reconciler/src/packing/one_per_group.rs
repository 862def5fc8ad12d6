//! One slice per group, and no more endpoints than fit (M78–M86).

use slice_core::{CompactSlice, EndpointSet, EndpointSource};

use super::keep::Kept;
use crate::{
    Group, InvalidEndpoint, MetadataPolicy,
    check::Sieve,
    lists::{NewSlice, SliceChanges, Update},
    planned::{PlannedEndpoint, PlannedSlice},
};

pub(super) fn pack<'a, E: EndpointSource>(
    existing: &[&'a CompactSlice],
    mut group: Group<E>,
    cap: usize,
    policy: &MetadataPolicy,
    sieve: &mut Sieve,
) -> SliceChanges<'a, E> {
    let mut packed = SliceChanges::default();
    let Some((slice, duplicates)) = existing.split_first() else {
        let endpoints = fitting(validate(group.endpoints, sieve), cap, cap, sieve);
        packed.changes.added = endpoints.len();
        if !endpoints.is_empty() {
            packed.create.push(NewSlice {
                ports: group.ports,
                endpoints,
            });
        }
        return packed;
    };
    packed.delete.extend(duplicates);
    let mut kept = Kept::default();
    kept.look_at(slice, &mut group.endpoints);
    let others = validate(group.endpoints, sieve);
    let is_intact = kept.is_intact() && (1..=cap).contains(&kept.len()) && !policy.differs(&slice.metadata);
    if is_intact && (others.is_empty() || kept.len() == cap) {
        fitting(others, 0, cap, sieve);
        packed.unchanged.push(slice);
        return packed;
    }
    // Before the room is counted: what the slice loses makes room.
    kept.sift(sieve);
    let added = fitting(others, cap.saturating_sub(kept.len()), cap, sieve);
    packed.changes.added = added.len();
    packed.changes.removed = kept.dropped;
    packed.changes.changed = kept.changed;
    if kept.len() + added.len() == 0 {
        // Those that go with the group count, while copies of what stays do not (M82).
        packed.changes.removed = existing.iter().map(|slice| slice.endpoints.len()).sum();
        packed.delete = existing.to_vec();
        return packed;
    }
    let mut to = PlannedSlice::replacing(slice, slice.ports.clone(), kept.first(cap));
    policy.apply(&mut to.metadata);
    to.endpoints
        .extend(added.into_iter().map(PlannedEndpoint::from_desired));
    for beyond in kept.beyond(cap) {
        sieve.leave_out(&beyond, InvalidEndpoint::LimitExceeded(cap));
    }
    packed.update.push(Update { from: slice, to });
    packed
}

/// What can be published.
fn validate<E: EndpointSource>(endpoints: EndpointSet<E>, sieve: &mut Sieve) -> Vec<E> {
    let mut endpoints = endpoints.into_sorted();
    endpoints.retain(|endpoint| sieve.passes(endpoint));
    endpoints
}

/// The first of these, as many as there is room for; the others are left out.
fn fitting<E: EndpointSource>(mut endpoints: Vec<E>, room: usize, cap: usize, sieve: &mut Sieve) -> Vec<E> {
    for beyond in endpoints.iter().skip(room) {
        sieve.leave_out(beyond, InvalidEndpoint::LimitExceeded(cap));
    }
    endpoints.truncate(room);
    endpoints
}
