//! The empty slice of an owner without endpoints (R88–R92, G25).

use slice_core::{CompactSlice, EndpointSource, PortMapKey};

use crate::{
    MetadataPolicy,
    lists::{NewSlice, SliceChanges},
};

/// Provides for a placeholder where everything there is would be deleted: one of ours that already is one stays, also beside
/// others (I6), otherwise one is created (and reusing slices usually turns that into an update).
pub(crate) fn provide<E: EndpointSource>(policy: &MetadataPolicy, slices: &mut SliceChanges<'_, E>) {
    if let Some(place) = slices.delete.iter().position(|slice| is_placeholder(slice, policy)) {
        slices.unchanged.push(slices.delete.remove(place));
        return;
    }
    slices.create.push(NewSlice {
        ports: PortMapKey::new([]),
        endpoints: Vec::new(),
    });
}

/// Whether a slice is an empty one with the right labels; a label with an empty value is as good as none (R90).
fn is_placeholder(slice: &CompactSlice, policy: &MetadataPolicy) -> bool {
    let stored = slice.metadata.labels.as_ref();
    let labels = policy.labels(stored);
    let wanted = labels.iter().filter(|(_, value)| !value.is_empty());
    let stored = stored.into_iter().flatten().filter(|(_, value)| !value.is_empty());
    slice.endpoints.is_empty() && slice.ports.ports().is_empty() && stored.eq(wanted)
}
