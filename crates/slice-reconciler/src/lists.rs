//! The slices of one owner and address type between packing and writing.

use slice_core::{Draft, EndpointSource, Slice};

/// Which slices will be created, which updated, and which stay as they are. Slices to be deleted are of no interest to
/// whoever gives hints.
#[derive(Debug)]
pub(crate) struct Lists<'a, E: EndpointSource> {
    pub(crate) create: Vec<Draft<'a, E>>,
    pub(crate) update: Vec<Update<'a, E>>,
    /// Stored slices that need no write so far. One that does is copied to the end of `update`.
    pub(crate) unchanged: Vec<&'a Slice<E::Text>>,
}

/// A stored slice, and what becomes of it.
#[derive(Clone, Debug)]
pub(crate) struct Update<'a, E: EndpointSource> {
    pub(crate) from: &'a Slice<E::Text>,
    pub(crate) to: Draft<'a, E>,
}

impl<E: EndpointSource> Default for Lists<'_, E> {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            update: Vec::new(),
            unchanged: Vec::new(),
        }
    }
}

impl<'a, E: EndpointSource> Lists<'a, E> {
    /// The slices to be written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Draft<'a, E>> {
        self.create.iter().chain(self.update.iter().map(|update| &update.to))
    }

    /// The slices to be written.
    pub(crate) fn written_mut(&mut self) -> impl Iterator<Item = &mut Draft<'a, E>> {
        let updates = self.update.iter_mut().map(|update| &mut update.to);
        self.create.iter_mut().chain(updates)
    }
}

impl<'a, E: EndpointSource> Update<'a, E> {
    /// A slice that is written, though nothing about its endpoints changes yet.
    pub(crate) fn copy(from: &'a Slice<E::Text>) -> Self {
        Self {
            from,
            to: Draft::copy(from),
        }
    }
}
