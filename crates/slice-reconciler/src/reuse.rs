//! Slices that would be deleted become those that would be created: fewer objects churn (R104, G26, M96).

use std::{cmp::Reverse, collections::BTreeMap, mem};

use slice_core::{CompactSlice, EndpointSet, EndpointSource, PortMapKey};

use crate::{
    MetadataPolicy,
    lists::{NewSlice, SliceChanges, Update},
    planned::{PlannedEndpoint, PlannedSlice},
};

/// The new slices of one set of ports: their sizes, the largest first, and what goes into them.
struct Wanted<'a, E: EndpointSource> {
    sizes: Vec<usize>,
    endpoints: EndpointSet<E>,
    /// Doomed slices that are reused here, with how many of the wanted endpoints each holds.
    reuses: Vec<(usize, &'a CompactSlice)>,
}

/// Pairs doomed slices with new ones of the same address type, as many as there are of both. Which of them is free: a doomed
/// slice goes where most of its endpoints are wanted, and keeps them as far as they fit. So a slice gives endpoints away only
/// when it is full of its own, and takes others only when it gives none away: among the slices of one set of ports, no write
/// ever waits for itself.
pub(crate) fn reuse<E: EndpointSource>(slices: &mut SliceChanges<'_, E>, policy: &MetadataPolicy) {
    if slices.create.is_empty() || slices.delete.is_empty() {
        return;
    }
    let mut wanted = by_ports(mem::take(&mut slices.create));
    slices.delete = pair(&mut wanted, &slices.delete);
    for (ports, wanted) in wanted {
        distribute(&ports, wanted, policy, slices);
    }
}

fn by_ports<'a, E: EndpointSource>(create: Vec<NewSlice<E>>) -> BTreeMap<PortMapKey, Wanted<'a, E>> {
    let mut wanted: BTreeMap<PortMapKey, Wanted<'a, E>> = BTreeMap::new();
    for new in create {
        let wanted = wanted.entry(new.ports).or_insert_with(|| Wanted {
            sizes: Vec::new(),
            endpoints: EndpointSet::default(),
            reuses: Vec::new(),
        });
        wanted.sizes.push(new.endpoints.len());
        wanted.endpoints.extend(new.endpoints);
    }
    for wanted in wanted.values_mut() {
        wanted.sizes.sort_unstable_by_key(|size| Reverse(*size));
    }
    wanted
}

/// Gives each set of ports doomed slices, the best matches first, and answers those that nobody needs.
fn pair<'a, E: EndpointSource>(
    wanted: &mut BTreeMap<PortMapKey, Wanted<'a, E>>,
    doomed: &[&'a CompactSlice],
) -> Vec<&'a CompactSlice> {
    let mut matches = Vec::new();
    for (place, slice) in doomed.iter().enumerate() {
        for (ports, wanted) in wanted.iter() {
            let held = slice
                .endpoints
                .iter()
                .filter(|endpoint| wanted.endpoints.contains(endpoint));
            matches.push((Reverse(held.count()), place, ports.clone()));
        }
    }
    matches.sort_unstable();
    let mut free: Vec<Option<&'a CompactSlice>> = doomed.iter().copied().map(Some).collect();
    for (Reverse(held), place, ports) in matches {
        let Some(wanted) = wanted
            .get_mut(&ports)
            .filter(|wanted| wanted.reuses.len() < wanted.sizes.len())
        else {
            continue;
        };
        if let Some(slice) = free[place].take() {
            wanted.reuses.push((held, slice));
        }
    }
    free.into_iter().flatten().collect()
}

/// Fills the slices of one set of ports: what each reused one holds already, then the rest.
fn distribute<'a, E: EndpointSource>(
    ports: &PortMapKey,
    mut wanted: Wanted<'a, E>,
    policy: &MetadataPolicy,
    slices: &mut SliceChanges<'a, E>,
) {
    let kept: Vec<Vec<E>> = wanted
        .reuses
        .iter()
        .zip(&wanted.sizes)
        .map(|((_, slice), size)| {
            let stored = slice.endpoints.iter();
            stored
                .filter_map(|endpoint| wanted.endpoints.remove(endpoint))
                .take(*size)
                .collect()
        })
        .collect();
    let rest = wanted.endpoints.into_sorted();
    let mut rest = rest.as_slice();
    let mut reuses = wanted.reuses.into_iter().zip(kept);
    for size in wanted.sizes {
        let (from, mut endpoints) = reuses
            .next()
            .map_or((None, Vec::new()), |((_, slice), kept)| (Some(slice), kept));
        let (fit, left) = rest.split_at((size - endpoints.len()).min(rest.len()));
        endpoints.extend_from_slice(fit);
        rest = left;
        match from {
            Some(from) => slices.update.push(rewrite(from, ports, endpoints, policy)),
            None => slices.create.push(NewSlice {
                ports: ports.clone(),
                endpoints,
            }),
        }
    }
}

/// Other content for a stored slice, which keeps what others put into its metadata (W24).
fn rewrite<'a, E: EndpointSource>(
    from: &'a CompactSlice,
    ports: &PortMapKey,
    endpoints: Vec<E>,
    policy: &MetadataPolicy,
) -> Update<'a, E> {
    let endpoints = endpoints.into_iter().map(PlannedEndpoint::from_desired).collect();
    let mut to = PlannedSlice::replacing(from, ports.clone(), endpoints);
    policy.apply(&mut to.metadata);
    Update { from, to }
}
