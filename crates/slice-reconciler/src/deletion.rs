//! The end of a whole slice set.

use slice_core::{Slice, Text};

use crate::{Deletion, Operation, Partition, Plan, Write};

/// Deletes a whole slice set, or that part of it that a partition names: for an owner that is gone or wants no slices any
/// more (G59, M107), or for a cluster whose endpoints go from all owners (G73, G74).
///
/// `existing` are the slices that carry our labels, of one owner or of many. Slices outside the partition are not touched,
/// those that are being deleted need nothing more, and each of the others is deleted as it was seen (I8). Nothing waits for
/// anything: there is no other place for what they hold.
///
/// ```
/// use slice_core::{Slice, Text};
/// use slice_reconciler::{Operation, Partition, plan_deletion};
///
/// let slices = ["east", "west"].map(|cluster| {
///     let slice = serde_json::json!({
///         "metadata": {"namespace": "shop", "name": cluster, "uid": "7f", "labels": {"example.com/cluster": cluster}},
///         "addressType": "IPv4",
///     });
///     Slice::from(&serde_json::from_value(slice).unwrap())
/// });
/// let plan = plan_deletion(&slices, Partition(&[("example.com/cluster", "west")]));
/// let [write] = &plan.writes[..] else { panic!("east stays") };
/// let Operation::Delete(deletion) = &write.operation else { panic!("nothing else is done") };
/// assert_eq!((deletion.name.as_str(), deletion.uid.as_deref()), ("west", Some("7f")));
/// ```
#[must_use]
pub fn plan_deletion<T: Text>(existing: &[Slice<T>], partition: Partition<'_>) -> Plan<Slice<T>> {
    let live = existing
        .iter()
        .filter(|slice| partition.holds(slice) && slice.metadata.deletion_timestamp.is_none());
    let mut deletions: Vec<Deletion> = live.map(Deletion::of).collect();
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
