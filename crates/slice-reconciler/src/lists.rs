//! The slices of one owner and address type between packing and writing.

use std::sync::Arc;

use slice_core::Slice;

/// Which slices will be created, which updated, and which stay as they are. Slices to be deleted are of no interest to
/// whoever gives hints.
#[derive(Debug)]
pub(crate) struct Lists<'a, T = Arc<str>> {
    /// New slices, without a name yet.
    pub(crate) create: Vec<Slice<T>>,
    /// Changed copies of stored slices.
    pub(crate) update: Vec<Slice<T>>,
    /// Stored slices that need no write so far. One that does is cloned and moved to the end of `update`.
    pub(crate) unchanged: Vec<&'a Slice<T>>,
}

impl<T> Default for Lists<'_, T> {
    fn default() -> Self {
        Self {
            create: Vec::new(),
            update: Vec::new(),
            unchanged: Vec::new(),
        }
    }
}
