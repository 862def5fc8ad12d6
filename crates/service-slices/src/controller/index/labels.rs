//! Labels of pods, and selectors.

use std::{collections::BTreeMap, sync::Arc};

use slice_core::Interner;

/// A label.
pub(super) type Pair = (Arc<str>, Arc<str>);

/// Labels, or a selector, in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Labels(Arc<[Pair]>);

impl Labels {
    pub(crate) fn of(map: Option<&BTreeMap<String, String>>, interner: &mut Interner) -> Self {
        let pairs = map.into_iter().flatten();
        Self(
            pairs
                .map(|(key, value)| (interner.intern(key), interner.intern(value)))
                .collect(),
        )
    }

    pub(super) fn pairs(&self) -> &[Pair] {
        &self.0
    }

    /// Whether a selector selects these labels. Both are sorted, so one pass is enough.
    pub(super) fn are_selected_by(&self, selector: &Self) -> bool {
        let mut labels = self.0.iter();
        selector.0.iter().all(|wanted| labels.any(|label| label == wanted))
    }
}
