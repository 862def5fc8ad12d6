//! Labels of pods, and selectors of Services.

use std::{collections::BTreeMap, sync::Arc};

use slice_core::Interner;

/// Key and value of a label.
pub(super) type Label = (Arc<str>, Arc<str>);

/// Labels, or a selector, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Labels(Arc<[Label]>);

impl Labels {
    pub(crate) fn from_map(map: Option<&BTreeMap<String, String>>, interner: &mut Interner) -> Self {
        let labels = map.into_iter().flatten();
        Self(
            labels
                .map(|(key, value)| (interner.intern(key), interner.intern(value)))
                .collect(),
        )
    }

    pub(super) fn as_slice(&self) -> &[Label] {
        &self.0
    }

    /// Whether the selector matches these labels. Both are sorted, so that one pass is enough.
    pub(super) fn are_selected_by(&self, selector: &Self) -> bool {
        let mut labels = self.0.iter();
        selector.0.iter().all(|required| labels.any(|label| label == required))
    }
}
