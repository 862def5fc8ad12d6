//! Reuse: update slices that would be deleted in place of creating new ones, for less object churn (R104, G26, M96).

use std::{cmp::Reverse, collections::BTreeMap, mem};

use slice_core::{CompactSlice, EndpointSet, EndpointSource, PortMapKey};

use crate::{
    MetadataPolicy,
    lists::{NewSlice, SliceChanges, SliceUpdate},
    planned::PlannedEndpoint,
};

/// The slices to create with one set of ports.
struct NewSlices<'a, E: EndpointSource> {
    /// Endpoints per slice, in descending order.
    sizes: Vec<usize>,
    /// The endpoints of all these slices.
    endpoints: EndpointSet<E>,
    /// Slices to reuse, in place of creates.
    reused: Vec<&'a CompactSlice>,
}

/// Pairs slices to delete with slices to create, as many as there are of both. A slice is reused for the ports that have
/// most of its endpoints, and keeps these up to the planned size. Endpoints of these ports are moved out of it only if it is
/// full of them, and into it only if none are moved out: writes of one set of ports never form a cycle.
pub(crate) fn reuse<E: EndpointSource>(changes: &mut SliceChanges<'_, E>, policy: &MetadataPolicy) {
    if changes.to_create.is_empty() || changes.to_delete.is_empty() {
        return;
    }
    let mut new = by_ports(mem::take(&mut changes.to_create));
    changes.to_delete = pair(&mut new, &changes.to_delete);
    for (ports, new) in new {
        distribute(&ports, new, policy, changes);
    }
}

fn by_ports<'a, E: EndpointSource>(to_create: Vec<NewSlice<E>>) -> BTreeMap<PortMapKey, NewSlices<'a, E>> {
    let mut by_ports: BTreeMap<PortMapKey, NewSlices<'a, E>> = BTreeMap::new();
    for slice in to_create {
        let new = by_ports.entry(slice.ports).or_insert_with(|| NewSlices {
            sizes: Vec::new(),
            endpoints: EndpointSet::default(),
            reused: Vec::new(),
        });
        new.sizes.push(slice.endpoints.len());
        new.endpoints.extend(slice.endpoints);
    }
    for new in by_ports.values_mut() {
        new.sizes.sort_unstable_by_key(|size| Reverse(*size));
    }
    by_ports
}

/// Assigns slices to reuse to each set of ports, best matches first. Returns the slices that are still to be deleted.
fn pair<'a, E: EndpointSource>(
    by_ports: &mut BTreeMap<PortMapKey, NewSlices<'a, E>>,
    to_delete: &[&'a CompactSlice],
) -> Vec<&'a CompactSlice> {
    let mut matches = Vec::new();
    for (index, slice) in to_delete.iter().enumerate() {
        for (ports, new) in by_ports.iter() {
            let endpoints = slice.endpoints.iter();
            let matching = endpoints.filter(|endpoint| new.endpoints.contains(endpoint));
            matches.push((Reverse(matching.count()), index, ports.clone()));
        }
    }
    matches.sort_unstable();
    let mut free: Vec<Option<&'a CompactSlice>> = to_delete.iter().copied().map(Some).collect();
    for (_, index, ports) in matches {
        let new = by_ports.get_mut(&ports);
        if let Some(new) = new.filter(|new| new.reused.len() < new.sizes.len()) {
            new.reused.extend(free[index].take());
        }
    }
    free.into_iter().flatten().collect()
}

/// Distributes the endpoints of one set of ports: each reused slice keeps its own, then all are filled up.
fn distribute<'a, E: EndpointSource>(
    ports: &PortMapKey,
    mut new: NewSlices<'a, E>,
    policy: &MetadataPolicy,
    changes: &mut SliceChanges<'a, E>,
) {
    let mut kept = Vec::with_capacity(new.reused.len());
    for (slice, size) in new.reused.iter().zip(&new.sizes) {
        let existing = slice.endpoints.iter();
        let own = existing.filter_map(|endpoint| new.endpoints.remove(endpoint));
        kept.push(own.take(*size).collect::<Vec<E>>());
    }
    let remainder = new.endpoints.into_sorted();
    let mut remainder = remainder.as_slice();
    let mut reused = new.reused.into_iter().zip(kept);
    for size in new.sizes {
        let (existing, mut endpoints) = reused
            .next()
            .map_or((None, Vec::new()), |(slice, kept)| (Some(slice), kept));
        let (fit, left) = remainder.split_at((size - endpoints.len()).min(remainder.len()));
        endpoints.extend_from_slice(fit);
        remainder = left;
        match existing {
            Some(existing) => {
                let endpoints = endpoints.into_iter().map(PlannedEndpoint::from_desired).collect();
                let mut update = SliceUpdate::replacing(existing, ports, endpoints);
                policy.apply(&mut update.planned.metadata);
                changes.to_update.push(update);
            }
            None => changes.to_create.push(NewSlice {
                ports: ports.clone(),
                endpoints,
            }),
        }
    }
}
