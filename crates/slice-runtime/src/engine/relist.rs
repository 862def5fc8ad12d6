//! The lists of one watch.

use std::time::Duration;

use slice_controller::Key;

/// How much of a watch is known, and the list that is arriving, with what it contains so far (`L`).
#[derive(Debug)]
pub(super) struct Relist<L> {
    progress: Progress,
    open: Option<Open<L>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing is known.
    Unlisted,
    /// The API server lacks the resource, and no list was ever completed.
    Absent,
    /// A list was completed: what is known stays known.
    Listed,
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
            progress: Progress::Unlisted,
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
        self.progress = Progress::Listed;
        let Open { listed, deferred } = self.open.take().unwrap_or_default();
        (listed, deferred)
    }

    /// The API server lacks the resource: returns the deferred keys, as the list will not be completed.
    pub(super) fn abandon(&mut self) -> Vec<(Key, Duration)> {
        if self.progress == Progress::Unlisted {
            self.progress = Progress::Absent;
        }
        self.open.take().map(|open| open.deferred).unwrap_or_default()
    }

    pub(super) fn is_listing(&self) -> bool {
        self.open.is_some()
    }

    /// Whether decisions can be made: a list was completed, or there is nothing to list. The first list of a resource that
    /// appears later is waited for as if the resource had been there from the start (I11).
    pub(super) fn is_synced(&self) -> bool {
        match self.progress {
            Progress::Unlisted => false,
            Progress::Absent => !self.is_listing(),
            Progress::Listed => true,
        }
    }
}
