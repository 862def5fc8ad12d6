//! Relist bookkeeping: the initial list and the relists of one watch.

use std::time::Instant;

use slice_controller::Enqueued;

/// The list state of one watch. `L` collects the objects of a list that is not complete.
#[derive(Debug)]
pub(super) struct Relist<L> {
    phase: Phase,
    open: Option<OpenList<L>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The initial list is not complete.
    Unlisted,
    /// The API server lacks the resource, and no list was ever complete.
    Absent,
    /// A list was complete; its objects remain in the cache even if the watch fails.
    Listed,
}

/// A list that is not complete.
#[derive(Debug)]
struct OpenList<L> {
    started_at: Instant,
    listed: L,
    /// Keys that the list concerns. They are enqueued when it ends: deletions are only known then, and a key should not be
    /// written twice.
    deferred: Vec<Enqueued>,
}

/// A complete list.
#[derive(Debug)]
pub(super) struct CompleteList<L> {
    pub(super) started_at: Instant,
    /// Whether a list was complete before.
    pub(super) is_relist: bool,
    pub(super) listed: L,
    /// Keys to enqueue.
    pub(super) deferred: Vec<Enqueued>,
}

impl<L> Default for Relist<L> {
    fn default() -> Self {
        Self {
            phase: Phase::Unlisted,
            open: None,
        }
    }
}

impl<L: Default> Relist<L> {
    /// Starts a list. An incomplete one is dropped, except for its deferred keys.
    pub(super) fn start(&mut self, now: Instant) {
        let deferred = self.open.take().map(|open| open.deferred);
        self.open = Some(OpenList {
            started_at: now,
            listed: L::default(),
            deferred: deferred.unwrap_or_default(),
        });
    }

    /// The objects of an incomplete list so far.
    pub(super) fn listed_mut(&mut self) -> Option<&mut L> {
        self.open.as_mut().map(|open| &mut open.listed)
    }

    /// Defers keys until the list is complete; returns them to be enqueued at once if there is no incomplete list.
    pub(super) fn defer(&mut self, keys: Vec<Enqueued>) -> Vec<Enqueued> {
        match &mut self.open {
            Some(open) => {
                open.deferred.extend(keys);
                Vec::new()
            }
            None => keys,
        }
    }

    /// Completes the list, if there is one.
    pub(super) fn finish(&mut self) -> Option<CompleteList<L>> {
        let OpenList {
            started_at,
            listed,
            deferred,
        } = self.open.take()?;
        let is_relist = self.phase == Phase::Listed;
        self.phase = Phase::Listed;
        Some(CompleteList {
            started_at,
            is_relist,
            listed,
            deferred,
        })
    }

    /// Ends a list that failed. Returns the deferred keys: the objects so far were applied, and the next list may fail too. No
    /// key is synced from a part of the first list (I11).
    pub(super) fn fail(&mut self) -> Vec<Enqueued> {
        if self.phase == Phase::Absent {
            self.phase = Phase::Unlisted;
        }
        self.open.take().map(|open| open.deferred).unwrap_or_default()
    }

    /// Abandons the list, because the API server lacks the resource. Returns the deferred keys.
    pub(super) fn abandon(&mut self) -> Vec<Enqueued> {
        if self.phase == Phase::Unlisted {
            self.phase = Phase::Absent;
        }
        self.open.take().map(|open| open.deferred).unwrap_or_default()
    }

    /// Whether a list has started and is not complete.
    pub(super) fn is_listing(&self) -> bool {
        self.open.is_some()
    }

    /// Whether keys can be synced: a list was complete, or the API server lacks the resource. If the resource appears later, its
    /// first list must be complete as well (I11).
    pub(super) fn is_synced(&self) -> bool {
        match self.phase {
            Phase::Unlisted => false,
            Phase::Absent => !self.is_listing(),
            Phase::Listed => true,
        }
    }
}
