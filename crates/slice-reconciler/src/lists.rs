//! The slices of one owner and address type between packing and writing.

use slice_core::{CompactSlice, EndpointSource, PortMapKey};

use crate::{EndpointCounts, planned::PlannedSlice};

/// What becomes of slices: of one group, or of one address type.
#[derive(Debug)]
pub(crate) struct SliceChanges<'a, E> {
    /// Existing slices that stay as they are.
    pub(crate) unchanged: Vec<&'a CompactSlice>,
    pub(crate) create: Vec<NewSlice<E>>,
    pub(crate) update: Vec<Update<'a, E>>,
    pub(crate) delete: Vec<&'a CompactSlice>,
    pub(crate) changes: EndpointCounts,
}

/// A slice that does not exist yet.
#[derive(Debug)]
pub(crate) struct NewSlice<E> {
    pub(crate) ports: PortMapKey,
    pub(crate) endpoints: Vec<E>,
}

impl<E> Default for SliceChanges<'_, E> {
    fn default() -> Self {
        Self {
            unchanged: Vec::new(),
            create: Vec::new(),
            update: Vec::new(),
            delete: Vec::new(),
            changes: EndpointCounts::default(),
        }
    }
}

impl<E> SliceChanges<'_, E> {
    /// Adds the changes of another group.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.unchanged.append(&mut other.unchanged);
        self.create.append(&mut other.create);
        self.update.append(&mut other.update);
        self.delete.append(&mut other.delete);
        self.changes += other.changes;
    }
}

/// Which slices will be created, which updated, and which stay as they are. Slices to be deleted are not listed: hints do not concern them.
#[derive(Debug)]
pub(crate) struct Lists<'a, E> {
    pub(crate) create: Vec<PlannedSlice<'a, E>>,
    pub(crate) update: Vec<Update<'a, E>>,
    /// Stored slices that need no write so far. One that does is copied to the end of `update`.
    pub(crate) unchanged: Vec<&'a CompactSlice>,
}

/// A stored slice, and what becomes of it.
#[derive(Clone, Debug)]
pub(crate) struct Update<'a, E> {
    pub(crate) from: &'a CompactSlice,
    pub(crate) to: PlannedSlice<'a, E>,
}

impl<'a, E> Lists<'a, E> {
    /// The slices to be written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &PlannedSlice<'a, E>> {
        self.create.iter().chain(self.update.iter().map(|update| &update.to))
    }

    /// The slices to be written.
    pub(crate) fn written_mut(&mut self) -> impl Iterator<Item = &mut PlannedSlice<'a, E>> {
        let updates = self.update.iter_mut().map(|update| &mut update.to);
        self.create.iter_mut().chain(updates)
    }
}

impl<'a, E: EndpointSource> Update<'a, E> {
    /// A slice that is written, though nothing about its endpoints changes yet.
    pub(crate) fn unchanged(from: &'a CompactSlice) -> Self {
        Self {
            from,
            to: PlannedSlice::unchanged(from),
        }
    }
}
