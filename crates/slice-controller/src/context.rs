//! The context in which a controller handles a watch event.

use std::time::Duration;

use slice_core::Interner;

use crate::Key;

/// Collects the keys that a watch event enqueues, and interns strings.
#[derive(Debug, Default)]
pub struct EventContext {
    interner: Interner,
    enqueued: Vec<Enqueued>,
}

/// An enqueued key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The key.
    pub key: Key,
    /// The delay before the key is due.
    pub delay: Duration,
    /// Whether the change takes endpoints out of service.
    pub removal: bool,
}

impl Enqueued {
    /// A key that is due after this delay.
    #[must_use]
    pub const fn after(key: Key, delay: Duration) -> Self {
        Self {
            key,
            delay,
            removal: false,
        }
    }
}

impl EventContext {
    /// Enqueues a key without delay.
    pub fn enqueue(&mut self, key: Key) {
        self.enqueue_after(key, Duration::ZERO);
    }

    /// Enqueues keys without delay, such as the one that a change of an [`ObjectStore`](crate::ObjectStore) returns.
    pub fn enqueue_all(&mut self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.enqueue(key));
    }

    /// Enqueues a key after this delay, or earlier if another enqueue of the key is due first.
    pub fn enqueue_after(&mut self, key: Key, delay: Duration) {
        self.enqueued.push(Enqueued::after(key, delay));
    }

    /// As [`enqueue_after`](Self::enqueue_after), for a change that takes endpoints out of service: among due keys, such keys are
    /// synced first, because clients still connect to these endpoints.
    pub fn enqueue_removal_after(&mut self, key: Key, delay: Duration) {
        self.enqueued.push(Enqueued {
            removal: true,
            ..Enqueued::after(key, delay)
        });
    }

    /// The interner that the controller shares with the slice cache of the runtime.
    pub fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    /// Takes the enqueued keys.
    pub fn take_enqueued(&mut self) -> Vec<Enqueued> {
        std::mem::take(&mut self.enqueued)
    }
}
