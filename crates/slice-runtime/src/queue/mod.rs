//! The work queue: keys to sync, with delays, backoff and one sync per key at a time.

mod backoff;
mod fair_queue;
mod place;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use serde::Serialize;
use slice_controller::{Enqueued, Key};

use backoff::Backoff;
use fair_queue::FairQueue;
pub(crate) use place::Place;

/// A rate-limited delaying work queue, as in client-go, in one type.
///
/// A pure state machine: time is an argument. Its guarantees:
/// * a delayed key becomes ready at its earliest deadline; a later deadline does not postpone it (R35, R38);
/// * ready keys are returned first in, first out within a lane and a namespace; namespaces take turns;
/// * a key is processed by one sync at a time; adds during processing lead to one further sync (R32);
/// * a failing key is requeued with exponential backoff and jitter up to a maximum delay, with an unlimited number of retries;
/// * an add ends the backoff early, because the change may resolve the failure; a `Retry-After` of the server is honoured.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    keys: HashMap<Key, Entry>,
    /// By [`Lane`].
    ready: [FairQueue; 3],
    /// The number of ready keys.
    depth: usize,
    /// By deadline; equal deadlines in the order of their adds.
    delayed: BTreeMap<(Instant, u64), Key>,
    backoff: Backoff,
    /// The last sequence number of a delayed or ready key.
    sequence: u64,
}

/// The lane of a ready key: admission decides which lane is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Lane {
    /// A change takes endpoints out of service.
    Removal,
    /// Any other change.
    Change,
    /// The last sync of the key failed.
    Retry,
}

impl Lane {
    pub(crate) const ALL: [Self; 3] = [Self::Removal, Self::Change, Self::Retry];
}

#[derive(Debug, Default)]
struct Entry {
    state: State,
    /// The first add since the last sync began.
    added_at: Option<Instant>,
    /// The first add that no sync in progress and no successful one includes.
    changed_at: Option<Instant>,
    /// The first add that the sync in progress includes, also if syncs before have failed.
    syncing: Option<Instant>,
    /// Whether a change since the last sync began takes endpoints out of service.
    removal: bool,
    /// The deadline of adds during processing: the key is requeued for it afterwards.
    dirty: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    failing_since: Option<Instant>,
    /// The end of the server's `Retry-After`.
    not_before: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// Delayed until this deadline, with this sequence number.
    Delayed(Instant, u64),
    /// Ready in this lane, at this position.
    Ready(Lane, u64),
    Processing,
}

/// A key to sync now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedKey {
    pub(crate) key: Key,
    /// The first add since the last sync began.
    pub(crate) added_at: Instant,
    /// The first add since a successful sync began.
    pub(crate) changed_at: Instant,
    /// 1 for a key that did not fail before; one more after each failure in a row.
    pub(crate) attempt: u32,
}

/// How a sync ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncStatus {
    /// Forget the failures of the key.
    Success,
    /// Requeue the key with backoff.
    Failure {
        /// The server's `Retry-After`, if any.
        retry_after: Option<Duration>,
    },
    /// Another writer changed a slice first, and the cache has its version now: requeue at once, with backoff if conflicts
    /// continue (F1).
    Conflict,
}

impl Entry {
    fn lane(&self) -> Lane {
        if self.failures > 0 {
            Lane::Retry
        } else if self.removal {
            Lane::Removal
        } else {
            Lane::Change
        }
    }

    /// Records a failure. Returns when the key is due again: after `delay`, or earlier if it was added during processing.
    fn fail(
        &mut self,
        delay: Duration,
        retry_after: Option<Duration>,
        dirty: Option<Instant>,
        now: Instant,
    ) -> Instant {
        self.failures = self.failures.saturating_add(1);
        self.failing_since.get_or_insert(now);
        self.added_at.get_or_insert(now);
        self.changed_at = self.syncing.take().or(self.changed_at);
        self.not_before = retry_after.map(|after| now + after);
        let due = dirty.map_or(now + delay, |dirty| dirty.min(now + delay));
        due.max(self.not_before.unwrap_or(due))
    }
}

impl WorkQueue {
    /// Enqueues a key after its delay. Returns false if it was queued already.
    pub(crate) fn add(&mut self, enqueued: Enqueued, now: Instant) -> bool {
        let Enqueued { key, delay, removal } = enqueued;
        let entry = self.keys.entry(key.clone()).or_default();
        let is_new = entry.added_at.is_none();
        entry.added_at.get_or_insert(now);
        entry.changed_at.get_or_insert(now);
        entry.removal |= removal;
        let lane = entry.lane();
        let due = (now + delay).max(entry.not_before.unwrap_or(now));
        match entry.state {
            State::Ready(before, position) if before != lane => {
                self.ready[before as usize].remove(&key.namespace, position);
                self.depth -= 1;
                self.make_ready(key);
            }
            State::Ready(..) => {}
            State::Processing => entry.dirty = Some(entry.dirty.map_or(due, |before| before.min(due))),
            State::Delayed(before, _) if before <= due => {}
            State::Delayed(before, sequence) => {
                self.delayed.remove(&(before, sequence));
                self.schedule(key, due, now);
            }
            State::Idle => self.schedule(key, due, now),
        }
        is_new
    }

    /// Whether a key of this lane is ready, of a namespace that `admits` accepts.
    pub(crate) fn is_ready(&self, lane: Lane, admits: impl Fn(&str) -> bool) -> bool {
        self.ready[lane as usize].is_ready(admits)
    }

    /// Takes the next ready key of a lane for processing, of a namespace that `admits` accepts. [`done`](Self::done) must be
    /// called for it afterwards.
    pub(crate) fn take(&mut self, lane: Lane, admits: impl Fn(&str) -> bool) -> Option<QueuedKey> {
        let key = self.ready[lane as usize].pop(admits)?;
        self.depth -= 1;
        let entry = self.keys.get_mut(&key).expect("a ready key has an entry");
        entry.state = State::Processing;
        entry.removal = false;
        let added_at = entry.added_at.take().expect("a ready key was added");
        let changed_at = entry.changed_at.take().expect("an added key has changed");
        entry.syncing = Some(changed_at);
        Some(QueuedKey {
            key,
            added_at,
            changed_at,
            attempt: entry.failures.saturating_add(1),
        })
    }

    /// Ends the processing of a key: requeues it after a failure, a conflict or an add during processing, else forgets it.
    /// `jitter` (0 to 1) spreads the retries of keys that failed together.
    pub(crate) fn done(&mut self, key: &Key, status: SyncStatus, jitter: f64, now: Instant) {
        let Some(entry) = self.keys.get_mut(key).filter(|entry| entry.state == State::Processing) else {
            return;
        };
        entry.state = State::Idle;
        let dirty = entry.dirty.take();
        let backoff = self.backoff.after(entry.failures, jitter);
        let due = match status {
            SyncStatus::Success => {
                entry.failures = 0;
                entry.failing_since = None;
                entry.not_before = None;
                entry.syncing = None;
                dirty
            }
            SyncStatus::Conflict if entry.failures == 0 => Some(entry.fail(Duration::ZERO, None, dirty, now)),
            SyncStatus::Conflict => Some(entry.fail(backoff, None, dirty, now)),
            SyncStatus::Failure { retry_after } => Some(entry.fail(backoff, retry_after, dirty, now)),
        };
        match due {
            Some(due) => self.schedule(key.clone(), due, now),
            None => {
                self.keys.remove(key);
            }
        }
    }

    /// Counts the time of every queued key from now on. A key fails from its next failure on; its backoff goes on.
    pub(crate) fn restart(&mut self, now: Instant) {
        for entry in self.keys.values_mut() {
            entry.added_at = entry.added_at.map(|_| now);
            entry.changed_at = entry.changed_at.map(|_| now);
            entry.failing_since = None;
        }
    }

    /// The failures in a row of a key.
    pub(crate) fn failures(&self, key: &Key) -> u32 {
        self.keys.get(key).map_or(0, |entry| entry.failures)
    }

    /// The failing keys, each with the time of its first failure in a row since the last [`restart`](Self::restart).
    pub(crate) fn failing(&self) -> impl Iterator<Item = (&Key, Instant)> {
        let entries = self.keys.iter();
        entries.filter_map(|(key, entry)| Some((key, entry.failing_since?)))
    }

    /// The earliest deadline of a delayed key.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|((due, _), _)| *due)
    }

    /// Whether a key is ready, delayed or processing.
    #[cfg(feature = "simulation")]
    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.keys.contains_key(key)
    }

    /// The number of ready keys (R33).
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Makes delayed keys ready whose deadline has passed, the earliest first (R37).
    pub(crate) fn promote_due(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.remove();
            self.make_ready(key);
        }
    }

    /// Makes a key ready, or delays it until `due`.
    fn schedule(&mut self, key: Key, due: Instant, now: Instant) {
        if due <= now {
            self.make_ready(key);
            return;
        }
        self.sequence += 1;
        let entry = self.keys.get_mut(&key).expect("a scheduled key has an entry");
        entry.state = State::Delayed(due, self.sequence);
        self.delayed.insert((due, self.sequence), key);
    }

    fn make_ready(&mut self, key: Key) {
        self.sequence += 1;
        self.depth += 1;
        let entry = self.keys.get_mut(&key).expect("a scheduled key has an entry");
        let lane = entry.lane();
        entry.state = State::Ready(lane, self.sequence);
        self.ready[lane as usize].push(key, self.sequence);
    }
}
