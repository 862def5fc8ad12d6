//! What the runtime lends a controller while it handles a watch event.

use std::time::Duration;

use slice_core::Interner;

use crate::Key;

/// Takes the keys that a watch event concerns, and interns strings.
#[derive(Debug, Default)]
pub struct EventContext {
    interner: Interner,
    enqueued: Vec<(Key, Duration)>,
}

impl EventContext {
    /// Enqueues a key to be synced as soon as possible.
    pub fn enqueue(&mut self, key: Key) {
        self.enqueue_after(key, Duration::ZERO);
    }

    /// Enqueues a key to be synced after this delay, or earlier if something else asks for it.
    pub fn enqueue_after(&mut self, key: Key, delay: Duration) {
        self.enqueued.push((key, delay));
    }

    /// The strings of the controller and of the slices that the runtime caches, each kept once.
    pub fn interner(&mut self) -> &mut Interner {
        &mut self.interner
    }

    /// Takes the keys that were enqueued.
    pub fn take_enqueued(&mut self) -> Vec<(Key, Duration)> {
        std::mem::take(&mut self.enqueued)
    }
}
