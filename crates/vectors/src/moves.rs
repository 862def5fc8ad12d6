//! Finds endpoints that move between slices.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::compare::{Aspect, Difference, ReconcileResult, key};

/// Identity of an endpoint: its addresses in any order, hostname, and namespace and name of its target.
type Identity<'e> = (
    BTreeSet<&'e str>,
    Option<&'e str>,
    Option<(Option<&'e str>, Option<&'e str>)>,
);

/// Endpoints that move from one slice to another of the same address type, ports and owner. There should be none.
///
/// Removing a duplicate from one of two slices is not a move.
pub(super) fn moved_endpoints(existing: &[EndpointSlice], result: &ReconcileResult) -> Vec<Difference> {
    let written: Vec<&EndpointSlice> = result.creates.iter().chain(&result.updates).collect();
    let before = |slice: &EndpointSlice| existing.iter().find(|old| old.metadata.name == slice.metadata.name);
    let mut moved = Vec::new();
    for old in existing {
        let name = old.metadata.name.as_deref().unwrap_or_default();
        let update = result
            .updates
            .iter()
            .find(|update| update.metadata.name == old.metadata.name);
        if update.is_none() && !result.deletes.iter().any(|deleted| deleted == name) {
            continue;
        }
        let in_group = |slice: &&EndpointSlice| key(slice) == key(old);
        let retained = update.filter(in_group).map(identities).unwrap_or_default();
        let candidates = written.iter().copied().filter(in_group);
        let added: BTreeSet<Identity<'_>> = candidates
            .filter(|slice| has_common_owner(slice, old))
            .flat_map(|slice| {
                let previous = before(slice).map(identities).unwrap_or_default();
                identities(slice).into_iter().filter(move |new| !previous.contains(new))
            })
            .collect();
        let removed = identities(old)
            .into_iter()
            .filter(|endpoint| !retained.contains(endpoint));
        let both = removed.filter(|endpoint| added.contains(endpoint));
        moved.extend(both.map(|endpoint| Difference {
            aspect: Aspect::Moves,
            address_type: Some(old.address_type.clone()),
            text: format!("{endpoint:?} moves out of {name}"),
        }));
    }
    moved
}

fn identities(slice: &EndpointSlice) -> BTreeSet<Identity<'_>> {
    slice.endpoints.iter().flatten().map(identity).collect()
}

fn identity(endpoint: &Endpoint) -> Identity<'_> {
    let target = endpoint.target_ref.as_ref();
    (
        endpoint.addresses.iter().map(String::as_str).collect(),
        endpoint.hostname.as_deref(),
        target.map(|target| (target.namespace.as_deref(), target.name.as_deref())),
    )
}

/// Whether two slices share an owner. A slice of another owner is replaced as a whole (I7).
fn has_common_owner(one: &EndpointSlice, other: &EndpointSlice) -> bool {
    let owners = |slice: &EndpointSlice| slice.metadata.owner_references.clone().unwrap_or_default();
    let others = owners(other);
    owners(one)
        .iter()
        .any(|owner| others.iter().any(|other| other.uid == owner.uid))
}
