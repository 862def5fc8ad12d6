//! The slices of one owner and address type between packing and ordering.

use slice_core::{CompactSlice, EndpointSource, PortMapKey};

use crate::{
    EndpointCounts,
    planned::{PlannedEndpoint, PlannedSlice},
};

/// Planned changes to the slices of one group or one address type.
#[derive(Debug)]
pub(crate) struct SliceChanges<'a, E> {
    pub(crate) unchanged: Vec<&'a CompactSlice>,
    pub(crate) to_create: Vec<NewSlice<E>>,
    pub(crate) to_update: Vec<SliceUpdate<'a, E>>,
    pub(crate) to_delete: Vec<&'a CompactSlice>,
    pub(crate) counts: EndpointCounts,
}

/// A slice to create, without metadata.
#[derive(Debug)]
pub(crate) struct NewSlice<E> {
    pub(crate) ports: PortMapKey,
    pub(crate) endpoints: Vec<E>,
}

impl<E> Default for SliceChanges<'_, E> {
    fn default() -> Self {
        Self {
            unchanged: Vec::new(),
            to_create: Vec::new(),
            to_update: Vec::new(),
            to_delete: Vec::new(),
            counts: EndpointCounts::default(),
        }
    }
}

impl<E> SliceChanges<'_, E> {
    /// Adds the changes of another group.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.unchanged.append(&mut other.unchanged);
        self.to_create.append(&mut other.to_create);
        self.to_update.append(&mut other.to_update);
        self.to_delete.append(&mut other.to_delete);
        self.counts += other.counts;
    }
}

/// The slices of one address type that remain, as input of hint assignment.
#[derive(Debug)]
pub(crate) struct SliceLists<'a, E> {
    pub(crate) to_create: Vec<PlannedSlice<'a, E>>,
    pub(crate) to_update: Vec<SliceUpdate<'a, E>>,
    /// Existing slices without changes so far. One whose hints change moves to the end of `to_update`.
    pub(crate) unchanged: Vec<&'a CompactSlice>,
}

/// An existing slice and its planned content.
#[derive(Clone, Debug)]
pub(crate) struct SliceUpdate<'a, E> {
    pub(crate) existing: &'a CompactSlice,
    pub(crate) planned: PlannedSlice<'a, E>,
}

impl<'a, E> SliceLists<'a, E> {
    /// The slices to create and to update.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &PlannedSlice<'a, E>> {
        let updates = self.to_update.iter().map(|update| &update.planned);
        self.to_create.iter().chain(updates)
    }

    /// The slices to create and to update.
    pub(crate) fn changed_mut(&mut self) -> impl Iterator<Item = &mut PlannedSlice<'a, E>> {
        let updates = self.to_update.iter_mut().map(|update| &mut update.planned);
        self.to_create.iter_mut().chain(updates)
    }
}

impl<'a, E: EndpointSource> SliceUpdate<'a, E> {
    /// An update that does not change the endpoints yet.
    pub(crate) fn unchanged(existing: &'a CompactSlice) -> Self {
        Self {
            existing,
            planned: PlannedSlice::unchanged(existing),
        }
    }

    /// An update with new ports and endpoints. Metadata of other clients is preserved (W24).
    pub(crate) fn replacing(
        existing: &'a CompactSlice,
        ports: &PortMapKey,
        endpoints: Vec<PlannedEndpoint<'a, E>>,
    ) -> Self {
        let planned = PlannedSlice::replacing(existing, ports.clone(), endpoints);
        Self { existing, planned }
    }
}
