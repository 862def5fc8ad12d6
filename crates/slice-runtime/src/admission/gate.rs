//! The gate: no key is admitted while it is closed.

use std::time::{Duration, Instant};

use slice_controller::Key;

use super::REFUSED_KEYS;

/// How long the gate is closed if the server gives no `Retry-After`.
const DEFAULT_CLOSED: Duration = Duration::from_secs(1);

/// A gate that the server's rejections close.
#[derive(Debug, Default)]
pub(super) struct Gate {
    closed_until: Option<Instant>,
    /// Different keys that were refused since the last accepted write; at most [`REFUSED_KEYS`].
    refused: Vec<Key>,
}

impl Gate {
    pub(super) fn closed_until(&self, now: Instant) -> Option<Instant> {
        self.closed_until.filter(|until| *until > now)
    }

    /// A write was accepted: the server works.
    pub(super) fn on_accepted(&mut self) {
        self.refused.clear();
    }

    /// A write of a key was refused. Returns whether to close the gate: different keys were refused in a row, so the cause
    /// concerns more than one key. Until a write is accepted, each further refusal closes it again.
    pub(super) fn on_refused(&mut self, key: &Key) -> bool {
        if self.refused.len() < REFUSED_KEYS && !self.refused.contains(key) {
            self.refused.push(key.clone());
        }
        self.refused.len() >= REFUSED_KEYS
    }

    /// Closes the gate for the server's `Retry-After`, which is capped where it is read. Returns until when, if it was open.
    pub(super) fn close(&mut self, retry_after: Option<Duration>, now: Instant) -> Option<Instant> {
        let was_closed = self.closed_until(now).is_some();
        let until = now + retry_after.unwrap_or(DEFAULT_CLOSED);
        self.closed_until = self.closed_until.max(Some(until));
        (!was_closed).then_some(until)
    }
}
