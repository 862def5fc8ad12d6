//! Edits of slices by other clients.

use std::sync::Arc;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};

use crate::{
    inputs,
    object::{Name, Object, Resource, UNDECODABLE, label, version},
    schedule::Edit,
    server::Server,
};

/// Another client edits a slice, given by its place in the order of versions.
pub(crate) fn edit(server: &mut Server, slice: u8, edit: Edit) {
    let mut slices: Vec<&Arc<EndpointSlice>> = server.slices().collect();
    // The most recently written slices first, which are in flight or not received yet.
    slices.sort_by_key(|slice| std::cmp::Reverse(version(&slice.metadata)));
    // The lowest index half of the time.
    let index = if slice.is_multiple_of(2) {
        0
    } else {
        usize::from(slice / 2)
    };
    let Some(found) = (!slices.is_empty()).then(|| slices[index % slices.len()]) else {
        return;
    };
    let mut slice = EndpointSlice::clone(found);
    let name = Name::of(&slice.metadata);
    let labels = slice.metadata.labels.get_or_insert_default();
    labels.remove(UNDECODABLE);
    match edit {
        Edit::Delete => {
            server.delete(Resource::Slices, &name);
            return;
        }
        Edit::Recreate => {
            inputs::recreate(server, Resource::Slices, &name);
            return;
        }
        Edit::RemoveEndpoint => {
            // A slice with ports and without endpoints is retained, as upstream does, while a selected pod has these ports and
            // is on no known node.
            let endpoints = slice.endpoints.as_mut().filter(|endpoints| endpoints.len() > 1);
            if endpoints.and_then(Vec::pop).is_none() {
                return;
            }
        }
        Edit::Duplicate(number) => slice.metadata.name = Some(format!("manual-{number}")),
        Edit::ServiceName { db } => {
            // The key of Endpoints `db` would adopt a mirrored slice, and add an owner to it (M83).
            let is_mirrored = labels
                .get(MANAGED_BY_LABEL)
                .is_some_and(|value| value == mirroring::MANAGED_BY);
            let name = if db && !is_mirrored { "db" } else { "other" };
            labels.insert(SERVICE_NAME_LABEL.to_owned(), name.to_owned());
        }
        Edit::ManagedBy => drop(labels.insert(MANAGED_BY_LABEL.to_owned(), "foreign".to_owned())),
        Edit::Owner => {
            for owner in slice.metadata.owner_references.iter_mut().flatten() {
                "uid-of-another-owner".clone_into(&mut owner.uid);
            }
        }
        Edit::AddFinalizer => slice.metadata.finalizers = Some(vec!["example.com/held".to_owned()]),
        Edit::RemoveFinalizers => slice.metadata.finalizers = None,
        Edit::Label => drop(labels.insert("foreign".to_owned(), "label".to_owned())),
        // Mirroring removes it at its next sync, but no event of the slice leads to one: the generation is the same (R125).
        Edit::Annotation if label(&slice.metadata, MANAGED_BY_LABEL) == Some(mirroring::MANAGED_BY) => return,
        Edit::Annotation => {
            let annotations = slice.metadata.annotations.get_or_insert_default();
            annotations.insert("foreign".to_owned(), "annotation".to_owned());
        }
    }
    server.put(Object::Slice(Arc::new(slice)));
}
