//! Which keys are to be looked at, and when.

use std::time::Duration;

use crate::Key;

/// Collects the keys that a change concerns.
#[derive(Debug, Default)]
pub struct Wakes {
    keys: Vec<(Key, Duration)>,
}

impl Wakes {
    /// The key is to be looked at as soon as possible.
    pub fn now(&mut self, key: Key) {
        self.after(key, Duration::ZERO);
    }

    /// The key is to be looked at after this time, or sooner if something else asks for it.
    pub fn after(&mut self, key: Key, delay: Duration) {
        self.keys.push((key, delay));
    }

    /// Takes what was collected.
    pub fn drain(&mut self) -> impl Iterator<Item = (Key, Duration)> {
        self.keys.drain(..)
    }
}
