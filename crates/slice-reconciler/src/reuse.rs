//! Slices that would be deleted become those that would be created: fewer objects churn (R104, G26, M96).

use std::{cmp::Reverse, collections::BTreeMap};

use slice_core::{Draft, DraftEndpoint, EndpointSet, EndpointSource, PortMapKey, Slice};

use crate::{MetadataPolicy, lists::Update, packing::NewSlice};

/// What is left to create and delete, and what is reused instead.
#[derive(Debug)]
pub(crate) struct Reused<'a, E: EndpointSource> {
    pub(crate) create: Vec<NewSlice<E>>,
    pub(crate) update: Vec<Update<'a, E>>,
    pub(crate) delete: Vec<&'a Slice<E::Text>>,
}

/// The new slices of one set of ports: their sizes, the largest first, and what goes into them.
struct Wanted<'a, E: EndpointSource> {
    sizes: Vec<usize>,
    endpoints: EndpointSet<E>,
    /// Doomed slices that are reused here, with how many of the wanted endpoints each holds.
    reuses: Vec<(usize, &'a Slice<E::Text>)>,
}

/// Pairs doomed slices with new ones of the same address type, as many as there are of both. Which of them is free: a doomed
/// slice goes where most of its endpoints are wanted, and keeps them as far as they fit. So a slice gives endpoints away only
/// when it is full of its own, and takes others only when it gives none away: among the slices of one set of ports, no write
/// ever waits for itself.
pub(crate) fn reuse<'a, E: EndpointSource>(
    create: Vec<NewSlice<E>>,
    doomed: &[&'a Slice<E::Text>],
    policy: &MetadataPolicy,
) -> Reused<'a, E> {
    if create.is_empty() || doomed.is_empty() {
        return Reused {
            create,
            update: Vec::new(),
            delete: doomed.to_vec(),
        };
    }
    let mut wanted = by_ports(create);
    let mut reused = Reused {
        create: Vec::new(),
        update: Vec::new(),
        delete: pair(&mut wanted, doomed),
    };
    for (ports, wanted) in wanted {
        distribute(&ports, wanted, policy, &mut reused);
    }
    reused
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
    doomed: &[&'a Slice<E::Text>],
) -> Vec<&'a Slice<E::Text>> {
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
    let mut free: Vec<Option<&'a Slice<E::Text>>> = doomed.iter().copied().map(Some).collect();
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
    reused: &mut Reused<'a, E>,
) {
    let kept: Vec<Vec<E>> = wanted
        .reuses
        .iter()
        .zip(&wanted.sizes)
        .map(|((_, slice), size)| {
            let stored = slice.endpoints.iter();
            stored
                .filter_map(|endpoint| wanted.endpoints.take(&endpoint.view()))
                .take(*size)
                .collect()
        })
        .collect();
    let rest = wanted.endpoints.into_sorted();
    let mut rest = rest.as_slice();
    let mut slices = wanted.reuses.into_iter().zip(kept);
    for size in wanted.sizes {
        let (from, mut endpoints) = slices
            .next()
            .map_or((None, Vec::new()), |((_, slice), kept)| (Some(slice), kept));
        let (fit, left) = rest.split_at((size - endpoints.len()).min(rest.len()));
        endpoints.extend_from_slice(fit);
        rest = left;
        match from {
            Some(from) => reused.update.push(rewrite(from, ports, endpoints, policy)),
            None => reused.create.push(NewSlice {
                ports: ports.clone(),
                endpoints,
            }),
        }
    }
}

/// Other content for a stored slice, which keeps what others put into its metadata (W24).
fn rewrite<'a, E: EndpointSource>(
    from: &'a Slice<E::Text>,
    ports: &PortMapKey,
    endpoints: Vec<E>,
    policy: &MetadataPolicy,
) -> Update<'a, E> {
    let endpoints = endpoints.into_iter().map(DraftEndpoint::wanted).collect();
    let mut to = Draft::rewrite(from, ports.clone(), endpoints);
    policy.apply(&mut to.metadata);
    Update { from, to }
}
