//! Deletion of a whole slice set.

use slice_core::CompactSlice;

use crate::{DeleteSlice, Operation, Partition, Plan, Write};

/// Plans the deletion of a slice set or of one partition: for an owner that is deleted or no longer has slices (G59, M107),
/// or for a cluster whose endpoints are removed from all owners (G73, G74).
///
/// `existing` are slices with our labels, of one or many owners. Slices outside the partition and terminating slices are
/// skipped. Each delete has the uid and resourceVersion of its slice as preconditions (I8), and none depends on another.
#[must_use]
pub fn plan_deletion(existing: &[CompactSlice], partition: Partition<'_>) -> Plan {
    let live = existing
        .iter()
        .filter(|slice| partition.contains(slice) && slice.metadata.deletion_timestamp.is_none());
    let mut deletions: Vec<DeleteSlice> = live.map(DeleteSlice::from_slice).collect();
    deletions.sort_unstable();
    let write = |deletion| Write {
        operation: Operation::Delete(deletion),
        depends_on: Vec::new(),
    };
    Plan {
        writes: deletions.into_iter().map(write).collect(),
        ..Plan::default()
    }
}
