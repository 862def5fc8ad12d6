//! The place of every key in the queue, for `/debug/state`.

use std::time::Instant;

use slice_controller::Key;

use super::WorkQueue;

/// The place of a key in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Due, with so many keys before it.
    Ready(usize),
    /// Delayed until this time.
    Delayed(Instant),
}

impl WorkQueue {
    /// The queued keys in the order in which they are due, without those in processing.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, Place)> {
        let ready = self.ready.iter().enumerate();
        let ready = ready.map(|(position, key)| (key, Place::Ready(position)));
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
