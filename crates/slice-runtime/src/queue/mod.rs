//! Which key is looked at next.

mod backoff;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::{Duration, Instant},
};

use slice_controller::Key;

use backoff::Backoff;

/// The keys that wait to be looked at.
///
/// A pure state machine: time is an argument. What it promises:
/// * a key waits for its earliest deadline, and later requests do not put it off (R35, R38);
/// * keys whose time has come are handed out first in, first out;
/// * no key is handed out twice before it is given back, and requests meanwhile make for one more look (R32);
/// * a key that fails comes again, later and later up to a bound, for as long as it fails: none is ever dropped;
/// * a request breaks into such a wait, because what changed may be the cure; but not into one that the server asked for.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    keys: HashMap<Key, Entry>,
    ready: VecDeque<Key>,
    /// By deadline, and first come first served among equals.
    waiting: BTreeMap<(Instant, u64), Key>,
    backoff: Backoff,
    ticket: u64,
}

#[derive(Debug, Default)]
struct Entry {
    place: Place,
    /// Since when it is asked for; the start of what a look at it answers.
    since: Option<Instant>,
    /// When it is due again, if it was asked for while it was handed out.
    dirty: Option<Instant>,
    failures: u32,
    failing_since: Option<Instant>,
    /// The server asked not to be asked before.
    not_before: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Waiting(Instant, u64),
    Ready,
    Processing,
}

/// A key that is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) key: Key,
    /// When it was asked for first.
    pub(crate) since: Instant,
}

/// How a look at a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All is as it should be.
    Success,
    /// It has to be looked at again.
    Failure {
        /// Not before this, which the server asked for.
        retry_after: Option<Duration>,
    },
    /// Somebody else was faster, and what they did is known now: look again at once, but back off if it goes on like that.
    Overtaken,
}

impl Entry {
    /// Notes a failure; answers when the key is due again.
    fn fail(&mut self, wait: Duration, retry_after: Option<Duration>, asked: Option<Instant>, now: Instant) -> Instant {
        self.failures = self.failures.saturating_add(1);
        self.failing_since.get_or_insert(now);
        self.since.get_or_insert(now);
        self.not_before = retry_after.map(|after| now + after);
        let due = asked.map_or(now + wait, |asked| asked.min(now + wait));
        due.max(self.not_before.unwrap_or(due))
    }
}

impl Queue {
    /// Asks for a look at a key, after a delay. Answers whether nobody had asked for it before.
    pub(crate) fn add(&mut self, key: Key, delay: Duration, now: Instant) -> bool {
        let entry = self.keys.entry(key.clone()).or_default();
        let is_new = entry.since.is_none();
        entry.since.get_or_insert(now);
        let due = (now + delay).max(entry.not_before.unwrap_or(now));
        match entry.place {
            Place::Ready => {}
            Place::Processing => entry.dirty = Some(entry.dirty.map_or(due, |before| before.min(due))),
            Place::Waiting(before, _) if before <= due => {}
            Place::Waiting(before, ticket) => {
                self.waiting.remove(&(before, ticket));
                self.put(key, due, now);
            }
            Place::Nowhere => self.put(key, due, now),
        }
        is_new
    }

    /// Hands out the next key that is due. It has to be given back by [`done`](Self::done).
    pub(crate) fn next(&mut self, now: Instant) -> Option<Due> {
        self.release(now);
        let key = self.ready.pop_front()?;
        let entry = self.keys.get_mut(&key).expect("a key that is ready has an entry");
        entry.place = Place::Processing;
        let since = entry.since.take().expect("a key that is ready was asked for");
        Some(Due { key, since })
    }

    /// Takes a key back.
    pub(crate) fn done(&mut self, key: &Key, ended: Ended, now: Instant) {
        let Some(entry) = self.keys.get_mut(key).filter(|entry| entry.place == Place::Processing) else {
            return;
        };
        entry.place = Place::Nowhere;
        let asked = entry.dirty.take();
        let due = match ended {
            Ended::Success => {
                entry.failures = 0;
                entry.failing_since = None;
                entry.not_before = None;
                asked
            }
            Ended::Overtaken if entry.failures == 0 => Some(entry.fail(Duration::ZERO, None, asked, now)),
            Ended::Overtaken => Some(entry.fail(self.backoff.after(entry.failures), None, asked, now)),
            Ended::Failure { retry_after } => {
                Some(entry.fail(self.backoff.after(entry.failures), retry_after, asked, now))
            }
        };
        match due {
            Some(due) => self.put(key.clone(), due, now),
            None => {
                self.keys.remove(key);
            }
        }
    }

    /// How often a look at the key has failed in a row.
    pub(crate) fn failures(&self, key: &Key) -> u32 {
        self.keys.get(key).map_or(0, |entry| entry.failures)
    }

    /// The keys that fail, and since when.
    pub(crate) fn failing(&self) -> impl Iterator<Item = (&Key, Instant)> {
        let entries = self.keys.iter();
        entries.filter_map(|(key, entry)| Some((key, entry.failing_since?)))
    }

    /// When the next key that waits is due.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Keys that could be handed out (R33).
    pub(crate) fn depth(&self) -> usize {
        self.ready.len()
    }

    fn put(&mut self, key: Key, due: Instant, now: Instant) {
        let entry = self.keys.get_mut(&key).expect("a key that is put has an entry");
        if due <= now {
            entry.place = Place::Ready;
            self.ready.push_back(key);
        } else {
            self.ticket += 1;
            entry.place = Place::Waiting(due, self.ticket);
            self.waiting.insert((due, self.ticket), key);
        }
    }

    /// Moves what is due to the end of the line, the earliest deadline first (R37).
    fn release(&mut self, now: Instant) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.remove();
            let entry = self.keys.get_mut(&key).expect("a key that waits has an entry");
            entry.place = Place::Ready;
            self.ready.push_back(key);
        }
    }
}
