//! Slice sets that one owner keeps apart.

use slice_core::CompactSlice;

/// Which of an owner's slice sets is meant, as labels that every slice of the set carries and no other slice does: one set
/// for each cluster that endpoints come from, say (G1, G68). The order of the labels does not matter.
///
/// Without labels, which is the default, the owner has one set, and all slices that are listed for it belong to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition<'a>(pub &'a [(&'a str, &'a str)]);

impl<'a> Partition<'a> {
    /// Whether a slice belongs to the set.
    #[must_use]
    pub fn holds(self, slice: &CompactSlice) -> bool {
        let labels = slice.metadata.labels.as_ref();
        self.0.iter().all(|(key, value)| {
            labels
                .and_then(|labels| labels.get(*key))
                .is_some_and(|label| label == value)
        })
    }

    /// The labels in an order that only depends on what they are.
    pub(crate) fn sorted(self) -> Vec<(&'a str, &'a str)> {
        let mut labels = self.0.to_vec();
        labels.sort_unstable();
        labels
    }
}
