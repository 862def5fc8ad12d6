//! Endpoints that stay stay where they are.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::compare::{Answer, Aspect, Difference, key};

/// What makes an endpoint the same: its addresses in any order, its hostname, and namespace and name of its target.
type Identity<'e> = (
    BTreeSet<&'e str>,
    Option<&'e str>,
    Option<(Option<&'e str>, Option<&'e str>)>,
);

/// Endpoints that go from one slice to another of the same type, ports and owner: none should.
///
/// One that was in both slices before does not move, it is dropped where it was once too often.
pub(super) fn moved(existing: &[EndpointSlice], answer: &Answer) -> Vec<Difference> {
    let written: Vec<&EndpointSlice> = answer.creates.iter().chain(&answer.updates).collect();
    let before = |slice: &EndpointSlice| existing.iter().find(|old| old.metadata.name == slice.metadata.name);
    let mut moved = Vec::new();
    for old in existing {
        let name = old.metadata.name.as_deref().unwrap_or_default();
        let update = answer
            .updates
            .iter()
            .find(|update| update.metadata.name == old.metadata.name);
        if update.is_none() && !answer.deletes.iter().any(|deleted| deleted == name) {
            continue;
        }
        let in_group = |slice: &&EndpointSlice| key(slice) == key(old);
        let kept = update.filter(in_group).map(identities).unwrap_or_default();
        let takers = written.iter().copied().filter(in_group);
        let taken: BTreeSet<Identity<'_>> = takers
            .filter(|taker| has_owner_in_common(taker, old))
            .flat_map(|taker| {
                let held = before(taker).map(identities).unwrap_or_default();
                identities(taker).into_iter().filter(move |new| !held.contains(new))
            })
            .collect();
        let gone = identities(old).into_iter().filter(|endpoint| !kept.contains(endpoint));
        let gone = gone.filter(|endpoint| taken.contains(endpoint));
        moved.extend(gone.map(|endpoint| Difference {
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

/// A slice of another owner is replaced, with all that it holds (I7).
fn has_owner_in_common(one: &EndpointSlice, other: &EndpointSlice) -> bool {
    let owners = |slice: &EndpointSlice| slice.metadata.owner_references.clone().unwrap_or_default();
    let others = owners(other);
    owners(one)
        .iter()
        .any(|owner| others.iter().any(|other| other.uid == owner.uid))
}
