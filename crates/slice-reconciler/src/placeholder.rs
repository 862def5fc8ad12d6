//! The placeholder: the empty slice of an owner without endpoints (R88–R92, G25).

use slice_core::{CompactSlice, EndpointSource, PortMapKey};

use crate::{
    MetadataPolicy,
    lists::{NewSlice, SliceChanges},
};

/// Keeps one existing placeholder among the slices to delete, also if there are several (I6). Otherwise creates one, which
/// [`reuse`](crate::reuse) usually turns into an update.
pub(crate) fn ensure_placeholder<E: EndpointSource>(policy: &MetadataPolicy, changes: &mut SliceChanges<'_, E>) {
    let to_delete = &mut changes.to_delete;
    if let Some(index) = to_delete.iter().position(|slice| is_placeholder(slice, policy)) {
        changes.unchanged.push(to_delete.remove(index));
        return;
    }
    changes.to_create.push(NewSlice {
        ports: PortMapKey::new([]),
        endpoints: Vec::new(),
    });
}

/// Whether a slice is empty and has the desired labels. A label with an empty value equals a missing one (R90).
fn is_placeholder(slice: &CompactSlice, policy: &MetadataPolicy) -> bool {
    let existing = slice.metadata.labels.as_ref();
    let labels = policy.labels_for(existing);
    let desired = labels.iter().filter(|(_, value)| !value.is_empty());
    let existing = existing.into_iter().flatten().filter(|(_, value)| !value.is_empty());
    slice.endpoints.is_empty() && slice.ports.ports().is_empty() && existing.eq(desired)
}
