//! The end of a whole slice set.

use slice_core::CompactSlice;

use crate::{DeleteSlice, Operation, Partition, Plan, Write};

/// Deletes a whole slice set, or that part of it that a partition names: for an owner that is gone or wants no slices any
/// more (G59, M107), or for a cluster whose endpoints go from all owners (G73, G74).
///
/// `existing` are the slices that carry our labels, of one owner or of many. Slices outside the partition are not touched,
/// those that are being deleted need nothing more, and each of the others is deleted as it was seen (I8). Nothing waits for
/// anything: there is no other place for what they hold.
#[must_use]
pub fn plan_deletion(existing: &[CompactSlice], partition: Partition<'_>) -> Plan {
    let live = existing
        .iter()
        .filter(|slice| partition.holds(slice) && slice.metadata.deletion_timestamp.is_none());
    let mut deletions: Vec<DeleteSlice> = live.map(DeleteSlice::of).collect();
    deletions.sort_unstable();
    let write = |deletion| Write {
        operation: Operation::Delete(deletion),
        after: Vec::new(),
    };
    Plan {
        writes: deletions.into_iter().map(write).collect(),
        ..Plan::default()
    }
}
