//! Partitions: several slice sets of one owner.

use slice_core::CompactSlice;

/// One of several slice sets of an owner, selected by labels that every slice of the set has and no other slice: one set for
/// each source cluster, for example (G1, G68). The order of the labels does not matter.
///
/// The default has no labels: the owner has one set, which contains all its slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition<'a>(pub &'a [(&'a str, &'a str)]);

impl<'a> Partition<'a> {
    /// Whether a slice belongs to the set.
    #[must_use]
    pub fn contains(self, slice: &CompactSlice) -> bool {
        let labels = slice.metadata.labels.as_ref();
        self.0.iter().all(|(key, value)| {
            labels
                .and_then(|labels| labels.get(*key))
                .is_some_and(|label| label == value)
        })
    }

    /// The labels in a canonical order.
    pub(crate) fn sorted(self) -> Vec<(&'a str, &'a str)> {
        let mut labels = self.0.to_vec();
        labels.sort_unstable();
        labels
    }
}
