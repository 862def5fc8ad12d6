//! The trigger time: when the oldest change happened that a sync publishes.

mod annotation;
mod compare;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, hash::Hash};

use jiff::Timestamp;

pub use annotation::{InvalidTriggerTime, format_trigger_time, parse_trigger_time};
use compare::{Diff, SourceTime, compare};

/// Keeps, per owner, the times of the last successful sync, and computes the trigger time of the next one (service-slices.md
/// §17, G45).
///
/// An owner has a time (its creation) and sources with times. The sources of a Service are its pods by name, with the time
/// of their last readiness change; omit pods without such a time. For a new owner the trigger time is the owner's own time;
/// afterwards it is the earliest time that is new or later than at the last commit, or none (R111).
///
/// [`compute`](Self::compute) changes no state: [`commit`](Self::commit) its result when the sync has succeeded. After a
/// failed write, the retry then publishes the same trigger time (W17; upstream loses it).
///
/// Sources are compared by position while their order is that of the last sync, which needs neither hashing nor memory. Any
/// other order is correct, too.
///
/// ```
/// use slice_core::{TriggerTimeTracker, format_trigger_time};
///
/// let created = "2026-01-02T03:04:05Z".parse()?;
/// let ready = "2026-01-02T03:05:00Z".parse()?;
/// let mut times = TriggerTimeTracker::new();
///
/// let pending = times.compute(&"default/web", Some(created), []);
/// assert_eq!(pending.time(), Some(created));
/// times.commit(pending);
///
/// let failed = times.compute(&"default/web", Some(created), [("web-0", ready)]);
/// assert_eq!(failed.time(), Some(ready));
/// let retried = times.compute(&"default/web", Some(created), [("web-0", ready)]);
/// assert_eq!(retried.time().map(format_trigger_time).as_deref(), Some("2026-01-02T03:05:00Z"));
/// times.commit(retried);
///
/// assert_eq!(times.compute(&"default/web", Some(created), [("web-0", ready)]).time(), None);
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Debug)]
pub struct TriggerTimeTracker<K> {
    owners: HashMap<K, CommittedTimes>,
    commits: u64,
}

#[derive(Debug)]
struct CommittedTimes {
    /// The number of the commit.
    commit: u64,
    owner: Option<Timestamp>,
    sources: Vec<SourceTime>,
}

/// The trigger time of one sync, to be committed when the sync has succeeded.
#[derive(Debug)]
#[must_use = "commit it after a successful sync, drop it after a failed one"]
pub struct PendingTriggerTime<K> {
    key: K,
    based_on: Option<u64>,
    time: Option<Timestamp>,
    owner: Option<Timestamp>,
    diff: Diff,
}

impl<K> PendingTriggerTime<K> {
    /// The trigger time for the annotation of every slice that the sync writes (R112). `None` removes the annotation (R115).
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        self.time
    }
}

impl<K> Default for TriggerTimeTracker<K> {
    fn default() -> Self {
        Self {
            owners: HashMap::new(),
            commits: 0,
        }
    }
}

impl<K: Clone + Eq + Hash> TriggerTimeTracker<K> {
    /// An empty tracker.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of owners.
    #[must_use]
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether there are no owners.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Compares the times of an owner and of all its sources with the committed ones (R111). Pass each source once.
    pub fn compute<'s>(
        &self,
        key: &K,
        owner: Option<Timestamp>,
        sources: impl IntoIterator<Item = (&'s str, Timestamp)>,
    ) -> PendingTriggerTime<K> {
        let last = self.owners.get(key);
        let (earliest, diff) = compare(last.map_or(&[], |last| &last.sources), sources);
        let time = match last {
            None => owner,
            Some(last) => owner.filter(|_| owner > last.owner).into_iter().chain(earliest).min(),
        };
        PendingTriggerTime {
            key: key.clone(),
            based_on: last.map(|last| last.commit),
            time,
            owner,
            diff,
        }
    }

    /// Stores the times of a successful sync. Does nothing if the owner was committed or forgotten since they were computed;
    /// then the next sync publishes these times again.
    pub fn commit(&mut self, pending: PendingTriggerTime<K>) {
        let PendingTriggerTime {
            key,
            based_on,
            owner,
            diff,
            ..
        } = pending;
        if self.owners.get(&key).map(|committed| committed.commit) != based_on {
            return;
        }
        self.commits += 1;
        let committed = self.owners.entry(key).or_insert_with(|| CommittedTimes {
            commit: 0,
            owner: None,
            sources: Vec::new(),
        });
        committed.commit = self.commits;
        committed.owner = owner;
        diff.apply(&mut committed.sources);
    }

    /// Removes a deleted owner (R116).
    pub fn forget(&mut self, key: &K) {
        self.owners.remove(key);
    }
}
