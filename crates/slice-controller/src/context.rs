//! The context in which a controller handles a watch event.

use std::time::Duration;

use slice_core::Interner;

use crate::Key;

/// Collects the keys that a watch event enqueues, and interns strings.
#[derive(Debug, Default)]
pub struct EventContext {
    interner: Interner,
    enqueued: Vec<(Key, Duration)>,
}

impl EventContext {
    /// Enqueues a key without delay.
    pub fn enqueue(&mut self, key: Key) {
        self.enqueue_after(key, Duration::ZERO);
    }

    /// Enqueues a key after this delay, or earlier if another enqueue of the key is due first.
    pub fn enqueue_after(&mut self, key: Key, delay: Duration) {
        self.enqueued.push((key, delay));
    }

    /// The interner that the controller shares with the slice cache of the runtime.
    pub fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    /// Takes the enqueued keys with their delays.
    pub fn take_enqueued(&mut self) -> Vec<(Key, Duration)> {
        std::mem::take(&mut self.enqueued)
    }
}
