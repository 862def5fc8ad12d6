//! Since when the change is waiting that a sync is about to publish.

mod annotation;
mod compare;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, hash::Hash};

use jiff::Timestamp;

pub use annotation::{InvalidTriggerTime, format_trigger_time, parse_trigger_time};
use compare::{Change, Source, compare};

/// Remembers, per owner, the times that were last published, so that each sync can tell the earliest change it
/// publishes: service-slices.md §17, G45.
///
/// An owner has a time (its creation) and sources with times (for a Service: its pods by name, and when their readiness
/// last changed; pods that have no such time are left out). An owner seen for the first time gives its own time;
/// afterwards the result is the earliest of the times that grew, or none (R111).
///
/// [`observe`](Self::observe) does not remember anything: commit what it returns once the sync has succeeded. After a
/// failed write the retry then still publishes the time of the change that is late (W17; upstream loses it).
///
/// Sources are compared by position as long as they come in the same order as last time, which costs neither hashing
/// nor memory; any other order is right, too.
///
/// ```
/// use slice_core::{TriggerTimeTracker, format_trigger_time};
///
/// let created = "2026-01-02T03:04:05Z".parse()?;
/// let ready = "2026-01-02T03:05:00Z".parse()?;
/// let mut times = TriggerTimeTracker::new();
///
/// let pending = times.observe(&"default/web", Some(created), []);
/// assert_eq!(pending.time(), Some(created));
/// times.commit(pending);
///
/// let failed = times.observe(&"default/web", Some(created), [("web-0", ready)]);
/// assert_eq!(failed.time(), Some(ready));
/// let retried = times.observe(&"default/web", Some(created), [("web-0", ready)]);
/// assert_eq!(retried.time().map(format_trigger_time).as_deref(), Some("2026-01-02T03:05:00Z"));
/// times.commit(retried);
///
/// assert_eq!(times.observe(&"default/web", Some(created), [("web-0", ready)]).time(), None);
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Debug)]
pub struct TriggerTimeTracker<K> {
    owners: HashMap<K, Known>,
    commits: u64,
}

#[derive(Debug)]
struct Known {
    /// The commit that this state comes from.
    commit: u64,
    owner: Option<Timestamp>,
    sources: Vec<Source>,
}

/// What one sync is about to publish, to be committed when it has.
#[derive(Debug)]
#[must_use = "commit it after a successful sync, drop it after a failed one"]
pub struct PendingTriggerTime<K> {
    key: K,
    based_on: Option<u64>,
    time: Option<Timestamp>,
    owner: Option<Timestamp>,
    change: Change,
}

impl<K> PendingTriggerTime<K> {
    /// The time for the annotation of every slice that the sync writes (R112); none removes the annotation (R115).
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
    /// No owner is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many owners are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether no owner is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Compares the times of an owner and of all its sources with those committed last (R111). Each source once.
    pub fn compute<'s>(
        &self,
        key: &K,
        owner: Option<Timestamp>,
        sources: impl IntoIterator<Item = (&'s str, Timestamp)>,
    ) -> PendingTriggerTime<K> {
        let known = self.owners.get(key);
        let (earliest, change) = compare(known.map_or(&[], |known| &known.sources), sources);
        let time = match known {
            None => owner,
            Some(known) => owner.filter(|_| owner > known.owner).into_iter().chain(earliest).min(),
        };
        PendingTriggerTime {
            key: key.clone(),
            based_on: known.map(|known| known.commit),
            time,
            owner,
            change,
        }
    }

    /// Remembers what was observed: it is published now. Ignored if the owner was committed or forgotten in between;
    /// then the next sync publishes these times once more.
    pub fn commit(&mut self, pending: PendingTriggerTime<K>) {
        let PendingTriggerTime {
            key,
            based_on,
            owner,
            change,
            ..
        } = pending;
        if self.owners.get(&key).map(|known| known.commit) != based_on {
            return;
        }
        self.commits += 1;
        let known = self.owners.entry(key).or_insert_with(|| Known {
            commit: 0,
            owner: None,
            sources: Vec::new(),
        });
        known.commit = self.commits;
        known.owner = owner;
        change.apply(&mut known.sources);
    }

    /// Forgets an owner that is gone (R116).
    pub fn forget(&mut self, key: &K) {
        self.owners.remove(key);
    }
}
