//! The slices of one owner and address type between packing and writing.

use slice_core::Slice;

/// Which slices will be created, which updated, and which stay as they are. Slices to be deleted are of no interest to
/// whoever gives hints.
#[derive(Debug, Default)]
pub(crate) struct Lists<'a> {
    /// New slices, without a name yet.
    pub(crate) create: Vec<Slice>,
    /// Changed copies of stored slices.
    pub(crate) update: Vec<Slice>,
    /// Stored slices that need no write so far. One that does is cloned and moved to the end of `update`.
    pub(crate) unchanged: Vec<&'a Slice>,
}
