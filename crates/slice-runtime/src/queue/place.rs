//! The place of every key in the queue, for `/debug/state`.

use std::time::Instant;

use slice_controller::Key;

use super::{Lane, WorkQueue};

/// The place of a key in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Due, in this lane, with so many keys of its namespace before it.
    Ready(Lane, usize),
    /// Delayed until this time.
    Delayed(Instant),
}

impl WorkQueue {
    /// The queued keys, ready ones first, without those in processing.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, Place)> {
        let ready = Lane::ALL.into_iter().flat_map(|lane| {
            let keys = self.ready[lane as usize].iter();
            keys.map(move |(position, key)| (key, Place::Ready(lane, position)))
        });
        let delayed = self.delayed.iter();
        ready.chain(delayed.map(|((due, _), key)| (key, Place::Delayed(*due))))
    }

    /// When the first of the failures in a row of a key happened.
    pub(crate) fn failing_since(&self, key: &Key) -> Option<Instant> {
        self.keys.get(key).and_then(|entry| entry.failing_since)
    }

    /// The number of keys that are queued or in processing.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}
