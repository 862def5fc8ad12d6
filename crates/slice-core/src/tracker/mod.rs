//! What our own writes lead us to expect of the slices that the watch shows.

mod sightings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_races;

use std::{collections::HashMap, hash::Hash, sync::Arc};

use sightings::{Sighting, Sightings};

/// One version of a slice, as much of it as a [`SliceTracker`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceVersion<'a> {
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.generation`: grows with the content and the labels, not with annotations (R125).
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set: a finalizer still holds the slice.
    pub terminating: bool,
}

/// What a deletion meant to the tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedDeletion<K> {
    /// We announced it: nothing to do.
    Expected,
    /// Somebody else deleted a slice of this set: look at the set.
    Unexpected(K),
    /// No set remembers the slice. Whether to look at its set is the caller's choice (W2, M21).
    Unknown,
}

/// What became of the answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The tracker expects the version written.
    Recorded,
    /// The slice left the set (or may have) before the answer came: nothing is expected of it; look at the set again.
    Superseded,
}

/// A write that was sent, or is about to be, and has no answer yet. Give it back to the tracker, whatever the answer.
#[derive(Debug)]
#[must_use = "a write that is never finished makes the tracker note sightings for nothing"]
pub struct WriteTicket<K> {
    set: K,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Generation(i64),
    ObservedDeletion,
}

/// Remembers, per slice set, which generation of each slice our writes led to, or that we deleted it; so that the
/// watch's echo of our own writes wakes nobody, and a list that does not show them yet is recognised (R117, G42).
///
/// `K` names a slice set and is computed by the caller: an owner's namespace and name, with its kind, uid or partition
/// where those keep sets apart. A slice is remembered in one set at most.
///
/// An answer may come later than the events of what happened next, and must not bring back what is gone (W4, D2b):
/// * *Deletions* are announced before they are sent, by [`expect_deletion`](Self::expect_deletion), and taken back by
///   [`cancel_deletion`](Self::cancel_deletion) if they fail.
/// * *Creates and updates* take a ticket from [`begin_write`](Self::begin_write) before they are sent. While tickets
///   are out, the tracker notes where slices that it does not remember were last seen;
///   [`finish_write`](Self::finish_write) records an answer only if its slice is still remembered, or was not meanwhile
///   seen gone or elsewhere.
///
/// "Before they are sent" is: before any further event is handled after the list was read that the write follows from.
///
/// Memory: one entry per slice that is remembered, one per write in flight, and a fixed number of sightings. To share a
/// tracker, put it behind a lock.
///
/// ```
/// use slice_core::{ObservedDeletion, SliceTracker, SliceVersion, WriteOutcome};
///
/// let first = SliceVersion { uid: "4e1f", generation: 1, terminating: false };
/// let mut tracker = SliceTracker::new();
///
/// let ticket = tracker.begin_write("default/web");
/// assert_eq!(tracker.finish_write(ticket, first), WriteOutcome::Recorded);
/// assert!(tracker.stale(&"default/web", []), "the watch has yet to show the slice");
/// assert!(!tracker.stale(&"default/web", [first]));
/// assert!(!tracker.should_sync(&"default/web", first), "our own write");
///
/// assert_eq!(tracker.handle_deletion("4e1f"), ObservedDeletion::Unexpected("default/web"));
/// assert!(tracker.is_empty());
/// ```
#[derive(Debug)]
pub struct SliceTracker<K> {
    sets: HashMap<K, HashMap<Arc<str>, Expected>>,
    /// The set of each slice in `sets`.
    homes: HashMap<Arc<str>, K>,
    sightings: Sightings<K>,
}

impl<K> Default for SliceTracker<K> {
    fn default() -> Self {
        Self {
            sets: HashMap::new(),
            homes: HashMap::new(),
            sightings: Sightings::default(),
        }
    }
}

impl<K: Clone + Eq + Hash> SliceTracker<K> {
    /// A tracker that expects nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many slices are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.homes.len()
    }

    /// Whether no slice is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.homes.is_empty()
    }

    /// Whether the set remembers the slice; an expected deletion counts (R118).
    #[must_use]
    pub fn has(&self, set: &K, uid: &str) -> bool {
        self.expected(set, uid).is_some()
    }

    /// Whether a version that the watch shows is news to the set: the slice is not remembered there, is newer than our
    /// last write, or should be gone (R121).
    #[must_use]
    pub fn should_sync(&self, set: &K, slice: SliceVersion<'_>) -> bool {
        match self.expected(set, slice.uid) {
            Some(Expected::Generation(written)) => slice.generation > written,
            Some(Expected::ObservedDeletion) | None => true,
        }
    }

    /// Whether the listed slices of a set lag behind our writes: one is older than written or should be gone, or one
    /// that is expected is missing (R123). Nothing should be planned from such a list (G43).
    ///
    /// List each slice once, and terminating ones too: they are present, whatever their generation, and one that we
    /// deleted is as gone as its finalizers let it be. So none of them holds up the set (W3).
    #[must_use]
    pub fn stale<'a>(&self, set: &K, listed: impl IntoIterator<Item = SliceVersion<'a>>) -> bool {
        let Some(members) = self.sets.get(set) else {
            return false;
        };
        let mut missing = members
            .values()
            .filter(|expected| **expected != Expected::ObservedDeletion)
            .count();
        for slice in listed {
            match members.get(slice.uid) {
                Some(Expected::ObservedDeletion) if !slice.terminating => return true,
                Some(Expected::Generation(written)) if !slice.terminating && *written > slice.generation => {
                    return true;
                }
                Some(Expected::Generation(_)) => missing = missing.saturating_sub(1),
                Some(Expected::ObservedDeletion) | None => {}
            }
        }
        missing > 0
    }

    /// Expects this version of the slice (R119). For slices that are in the list just read, such as those found to be
    /// right as they are (M86); the answer to a write goes to [`finish_write`](Self::finish_write).
    pub fn update(&mut self, set: &K, slice: SliceVersion<'_>) {
        self.put(set, slice.uid, Expected::Generation(slice.generation));
    }

    /// Expects the slice to disappear (R120). Call it before the deletion is sent.
    pub fn expect_deletion(&mut self, set: &K, uid: &str) {
        self.put(set, uid, Expected::ObservedDeletion);
    }

    /// The announced deletion was refused, withheld or not answered: expects the slice as it was listed. Does nothing
    /// if the slice is known to be gone. A deletion answered "not found" did not fail.
    pub fn cancel_deletion(&mut self, slice: SliceVersion<'_>) {
        if let Some(members) = self.homes.get(slice.uid).and_then(|home| self.sets.get_mut(home))
            && let Some(expected @ Expected::ObservedDeletion) = members.get_mut(slice.uid)
        {
            *expected = Expected::Generation(slice.generation);
        }
    }

    /// A create or update of a slice of this set is about to be sent.
    pub fn begin_write(&mut self, set: K) -> WriteTicket<K> {
        WriteTicket {
            set,
            number: self.sightings.open(),
        }
    }

    /// The write was answered with this version. Expects it, unless the slice has left the set since the write began.
    pub fn finish_write(&mut self, ticket: WriteTicket<K>, slice: SliceVersion<'_>) -> WriteOutcome {
        let WriteTicket { set, number } = ticket;
        let sighting = self.sightings.close(number, slice.uid);
        let stayed = match self.homes.get(slice.uid) {
            Some(home) => *home == set,
            None => match sighting {
                Sighting::Never => true,
                Sighting::In(seen) => seen == set,
                Sighting::Gone | Sighting::Forgotten => false,
            },
        };
        if !stayed {
            return WriteOutcome::Superseded;
        }
        self.update(&set, slice);
        WriteOutcome::Recorded
    }

    /// The write was refused, withheld or not answered: nothing new is expected.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is good for one answer")]
    pub fn abandon_write(&mut self, ticket: WriteTicket<K>) {
        self.sightings.abandon(ticket.number);
    }

    /// The watch showed the slice in this set, or as none of ours. Drops it from any other set and names that set: it
    /// has lost a slice and should be looked at (W1, D2). Call it for every slice that the watch shows.
    pub fn observe(&mut self, set: Option<&K>, uid: &str) -> Option<K> {
        let home = self.homes.get(uid);
        if home.is_some() && home == set {
            return None;
        }
        self.sightings.note(uid, set);
        self.take(uid).map(|(left, _)| left)
    }

    /// The watch (or an answer "not found") showed that the slice is gone. Drops it from the set that remembers it,
    /// whatever its labels said last (R124, D2).
    pub fn handle_deletion(&mut self, uid: &str) -> ObservedDeletion<K> {
        self.sightings.note(uid, None);
        match self.take(uid) {
            Some((_, Expected::ObservedDeletion)) => ObservedDeletion::Expected,
            Some((set, Expected::Generation(_))) => ObservedDeletion::Unexpected(set),
            None => ObservedDeletion::Unknown,
        }
    }

    /// Expects nothing more of the set (R122): its owner is gone, or it was stale for so long that the truth is now
    /// read from the API server.
    pub fn forget(&mut self, set: &K) {
        for uid in self.sets.remove(set).unwrap_or_default().keys() {
            self.homes.remove(uid);
        }
    }

    fn expected(&self, set: &K, uid: &str) -> Option<Expected> {
        self.sets.get(set)?.get(uid).copied()
    }

    fn put(&mut self, set: &K, uid: &str, expected: Expected) {
        if let Some(known) = self.sets.get_mut(set).and_then(|members| members.get_mut(uid)) {
            *known = expected;
            return;
        }
        self.take(uid);
        let uid: Arc<str> = uid.into();
        self.homes.insert(Arc::clone(&uid), set.clone());
        self.sets.entry(set.clone()).or_default().insert(uid, expected);
    }

    fn take(&mut self, uid: &str) -> Option<(K, Expected)> {
        let home = self.homes.remove(uid)?;
        let members = self.sets.get_mut(&home)?;
        let expected = members.remove(uid)?;
        if members.is_empty() {
            self.sets.remove(&home);
        }
        Some((home, expected))
    }
}
