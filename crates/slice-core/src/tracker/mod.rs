//! Expectations about slices after our own writes.

mod observations;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, hash::Hash, sync::Arc};

use observations::{LastObserved, RecentObservations};

/// One version of a slice: the fields that a [`SliceTracker`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceVersion<'a> {
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.generation`: grows with the content and the labels, not with annotations (R125).
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set: the slice still exists because of a finalizer.
    pub terminating: bool,
}

/// Classification of an observed deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedDeletion<K> {
    /// Our own deletion: nothing to do.
    Expected,
    /// Another client deleted a slice of this set: sync the set.
    Unexpected(K),
    /// The slice is not tracked. The caller decides whether to sync its set (W2, M21).
    Unknown,
}

/// Whether the response to a write was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The tracker expects the written version.
    Recorded,
    /// The slice left the set (or may have) before the response arrived: the tracker does not store an expectation for the
    /// slice. Sync the set again.
    Superseded,
}

/// A create or update in flight. Return it to the tracker with the response, or by
/// [`abandon_write`](SliceTracker::abandon_write).
#[derive(Debug)]
#[must_use = "a write that is never finished makes the tracker keep observations that are never used"]
pub struct WriteTicket<K> {
    set: K,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Generation(i64),
    Deletion,
}

/// Tracks, per slice set, the generation that our last write of each slice led to, or its deletion. With it, the watch event
/// of our own write enqueues nothing, and a cache that does not contain our writes yet is recognised (R117, G42).
///
/// `K` names a slice set and is computed by the caller: an owner's namespace and name, with its kind, uid or partition
/// where those separate sets. A slice is tracked in one set at most.
///
/// The response to a write may arrive after later watch events of the slice, and must not add a deleted slice back (W4, D2b):
/// * *Deletions*: call [`expect_deletion`](Self::expect_deletion) before the request is sent, and
///   [`cancel_deletion`](Self::cancel_deletion) if it fails.
/// * *Creates and updates*: take a ticket by [`begin_write`](Self::begin_write) before the request is sent. While tickets
///   are open, the tracker records where untracked slices were last observed; [`finish_write`](Self::finish_write) records
///   a response only if its slice is still tracked in the set, or was not observed as deleted or in another set meanwhile.
///
/// Make these calls after the cached slices of the set are read for planning, and before any further watch event is handled.
///
/// Memory: one entry per tracked slice, one per write in flight, and a fixed number of observations. To share a tracker
/// between threads, put it behind a lock.
///
/// ```
/// use slice_core::{ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome};
///
/// let first = SliceVersion { uid: "4e1f", generation: 1, terminating: false };
/// let mut tracker = SliceTracker::new();
///
/// let ticket = tracker.begin_write("default/web");
/// assert_eq!(tracker.finish_write(ticket, first), WriteOutcome::Recorded);
/// assert!(tracker.stale(&"default/web", []), "the cache lacks the slice");
/// assert!(!tracker.stale(&"default/web", [first]));
/// assert!(!tracker.should_sync(&"default/web", first), "our own write");
///
/// assert_eq!(tracker.handle_deletion("4e1f"), ObservedDeletion::Unexpected("default/web"));
/// assert!(tracker.is_empty());
/// ```
#[derive(Debug)]
pub struct SliceTracker<K> {
    sets: HashMap<K, HashMap<Arc<str>, Expected>>,
    set_by_uid: HashMap<Arc<str>, K>,
    observations: RecentObservations<K>,
}

impl<K> Default for SliceTracker<K> {
    fn default() -> Self {
        Self {
            sets: HashMap::new(),
            set_by_uid: HashMap::new(),
            observations: RecentObservations::default(),
        }
    }
}

impl<K: Clone + Eq + Hash> SliceTracker<K> {
    /// An empty tracker.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of tracked slices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.set_by_uid.len()
    }

    /// Whether no slice is tracked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set_by_uid.is_empty()
    }

    /// Whether the slice is tracked in the set; an expected deletion counts (R118).
    #[must_use]
    pub fn has(&self, set: &K, uid: &str) -> bool {
        self.expected(set, uid).is_some()
    }

    /// Whether a watch event with this version should enqueue the set: the slice is not tracked there, is newer than our
    /// last write, or should be deleted (R121).
    #[must_use]
    pub fn should_sync(&self, set: &K, slice: SliceVersion<'_>) -> bool {
        match self.expected(set, slice.uid) {
            Some(Expected::Generation(written)) => slice.generation > written,
            Some(Expected::Deletion) | None => true,
        }
    }

    /// Whether the cached slices of a set lag behind our writes: a slice is older than written, should be deleted, or is
    /// expected and missing (R123). Do not plan from such slices (G43).
    ///
    /// Pass each slice once, including terminating ones. A terminating slice counts as present whatever its generation, and
    /// as deleted if we deleted it, so that a finalizer never blocks the set (W3).
    #[must_use]
    pub fn stale<'a>(&self, set: &K, cached: impl IntoIterator<Item = SliceVersion<'a>>) -> bool {
        let Some(members) = self.sets.get(set) else {
            return false;
        };
        let mut missing = members
            .values()
            .filter(|expected| **expected != Expected::Deletion)
            .count();
        for slice in cached {
            match members.get(slice.uid) {
                Some(Expected::Deletion) if !slice.terminating => return true,
                Some(Expected::Generation(written)) if !slice.terminating && *written > slice.generation => {
                    return true;
                }
                Some(Expected::Generation(_)) => missing = missing.saturating_sub(1),
                Some(Expected::Deletion) | None => {}
            }
        }
        missing > 0
    }

    /// Expects this version of a slice (R119). For slices in the cache, such as unchanged ones (M86); pass the response to a
    /// write to [`finish_write`](Self::finish_write) instead.
    pub fn update(&mut self, set: &K, slice: SliceVersion<'_>) {
        self.set_expected(set, slice.uid, Expected::Generation(slice.generation));
    }

    /// Expects the deletion of the slice (R120). Call it before the request is sent.
    pub fn expect_deletion(&mut self, set: &K, uid: &str) {
        self.set_expected(set, uid, Expected::Deletion);
    }

    /// Expects the cached version of the slice again, after its deletion was rejected, skipped or timed out. Does nothing
    /// if the slice was observed as deleted. The response "not found" is a success, not a failure.
    pub fn cancel_deletion(&mut self, slice: SliceVersion<'_>) {
        if let Some(members) = self.set_by_uid.get(slice.uid).and_then(|set| self.sets.get_mut(set))
            && let Some(expected @ Expected::Deletion) = members.get_mut(slice.uid)
        {
            *expected = Expected::Generation(slice.generation);
        }
    }

    /// Opens a ticket for a write of a slice of this set. Call it before the request is sent.
    pub fn begin_write(&mut self, set: K) -> WriteTicket<K> {
        WriteTicket {
            set,
            number: self.observations.open_ticket(),
        }
    }

    /// Expects the version in the response to a write, unless the slice has left the set since the write began.
    pub fn finish_write(&mut self, ticket: WriteTicket<K>, slice: SliceVersion<'_>) -> WriteOutcome {
        let WriteTicket { set, number } = ticket;
        let last_observed = self.observations.close_ticket(number, slice.uid);
        let still_in_set = match self.set_by_uid.get(slice.uid) {
            Some(tracked_in) => *tracked_in == set,
            None => match last_observed {
                LastObserved::Never => true,
                LastObserved::InSet(observed_in) => observed_in == set,
                LastObserved::Gone | LastObserved::Evicted => false,
            },
        };
        if !still_in_set {
            return WriteOutcome::Superseded;
        }
        self.update(&set, slice);
        WriteOutcome::Recorded
    }

    /// Whether the slice was observed as deleted, or in no set, since the write began: a version of it in a response, such as
    /// the live slice after a conflict, may be older than that. True if there were too many observations to keep them.
    #[must_use]
    pub fn left_since(&self, ticket: &WriteTicket<K>, uid: &str) -> bool {
        let last_observed = self.observations.last_observed(ticket.number, uid);
        matches!(last_observed, LastObserved::Gone | LastObserved::Evicted)
    }

    /// Closes the ticket of a write that was rejected, skipped or timed out: no new version is expected.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is for one response")]
    pub fn abandon_write(&mut self, ticket: WriteTicket<K>) {
        self.observations.discard_ticket(ticket.number);
    }

    /// Records a watch event: the slice is in this set, or in none of ours. Drops the slice from any other set and returns
    /// that set, which should be synced (W1, D2). Call it for every slice that the watch shows.
    pub fn observe(&mut self, set: Option<&K>, uid: &str) -> Option<K> {
        let tracked_in = self.set_by_uid.get(uid);
        if tracked_in.is_some() && tracked_in == set {
            return None;
        }
        self.observations.record(uid, set);
        self.remove(uid).map(|(left, _)| left)
    }

    /// Records that the slice is deleted, by a watch event or a response "not found". Drops it from the set it is tracked
    /// in, whatever its last labels were (R124, D2).
    pub fn handle_deletion(&mut self, uid: &str) -> ObservedDeletion<K> {
        self.observations.record(uid, None);
        match self.remove(uid) {
            Some((_, Expected::Deletion)) => ObservedDeletion::Expected,
            Some((set, Expected::Generation(_))) => ObservedDeletion::Unexpected(set),
            None => ObservedDeletion::Unknown,
        }
    }

    /// Drops all expectations about a set (R122): its owner is deleted, or it was stale for so long that the live slices are
    /// read instead.
    pub fn forget(&mut self, set: &K) {
        for uid in self.sets.remove(set).unwrap_or_default().keys() {
            self.set_by_uid.remove(uid);
        }
    }

    /// Drops all expectations, because generations went back: etcd was restored from a backup. Each write in flight is
    /// superseded.
    pub fn clear(&mut self) {
        self.sets.clear();
        self.set_by_uid.clear();
        self.observations.clear();
    }

    fn expected(&self, set: &K, uid: &str) -> Option<Expected> {
        self.sets.get(set)?.get(uid).copied()
    }

    fn set_expected(&mut self, set: &K, uid: &str, expected: Expected) {
        if let Some(known) = self.sets.get_mut(set).and_then(|members| members.get_mut(uid)) {
            *known = expected;
            return;
        }
        self.remove(uid);
        let uid: Arc<str> = uid.into();
        self.set_by_uid.insert(Arc::clone(&uid), set.clone());
        self.sets.entry(set.clone()).or_default().insert(uid, expected);
    }

    fn remove(&mut self, uid: &str) -> Option<(K, Expected)> {
        let set = self.set_by_uid.remove(uid)?;
        let members = self.sets.get_mut(&set)?;
        let expected = members.remove(uid)?;
        if members.is_empty() {
            self.sets.remove(&set);
        }
        Some((set, expected))
    }
}
