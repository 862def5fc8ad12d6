//! The lists of one watch.

use std::time::Duration;

use slice_controller::Key;

/// Whether a watch has been listed, and the list that is arriving, with what it contains so far (`L`).
#[derive(Debug)]
pub(super) struct Relist<L> {
    synced: bool,
    open: Option<Open<L>>,
}

#[derive(Debug, Default)]
struct Open<L> {
    listed: L,
    /// Keys that the list concerns so far. They are enqueued when it is complete: deletions are known only then, and a key
    /// should not be written twice.
    deferred: Vec<(Key, Duration)>,
}

impl<L> Default for Relist<L> {
    fn default() -> Self {
        Self {
            synced: false,
            open: None,
        }
    }
}

impl<L: Default> Relist<L> {
    /// A list begins. One that was not completed is forgotten, except for the keys that it concerned.
    pub(super) fn start(&mut self) {
        let deferred = self.open.take().map(|open| open.deferred);
        self.open = Some(Open {
            listed: L::default(),
            deferred: deferred.unwrap_or_default(),
        });
    }

    /// What the list that is arriving contains so far.
    pub(super) fn listed_mut(&mut self) -> Option<&mut L> {
        self.open.as_mut().map(|open| &mut open.listed)
    }

    /// Defers keys until the list is complete; returns them if none is arriving.
    pub(super) fn defer(&mut self, keys: Vec<(Key, Duration)>) -> Vec<(Key, Duration)> {
        match &mut self.open {
            Some(open) => {
                open.deferred.extend(keys);
                Vec::new()
            }
            None => keys,
        }
    }

    /// The list is complete: returns what it contains, and the deferred keys.
    pub(super) fn finish(&mut self) -> (L, Vec<(Key, Duration)>) {
        self.synced = true;
        let Open { listed, deferred } = self.open.take().unwrap_or_default();
        (listed, deferred)
    }

    pub(super) fn is_listing(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a list has been completed.
    pub(super) fn is_synced(&self) -> bool {
        self.synced
    }
}
