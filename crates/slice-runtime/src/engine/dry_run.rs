//! What a dry run reports: the writes that another controller, which works with the same managed-by value, has not made.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use slice_controller::Key;
use slice_reconciler::Write;

use crate::escape::Escaped;

/// The time that the other controller has after the last change of its inputs. What is not written by then is a difference.
pub(crate) const DIFFERENCE_DELAY: Duration = Duration::from_secs(30);

/// The keys that a dry run would write.
#[derive(Debug, Default)]
pub(super) struct DryRun(HashMap<Key, Unwritten>);

/// The state of a key that a dry run would write.
#[derive(Debug)]
struct Unwritten {
    /// The last change of the inputs: of the owner, its endpoints or its slices.
    changed_at: Instant,
    /// Whether the difference was logged since then.
    logged: bool,
    /// Whether the key counts as a difference. After a change it does until the time has passed again.
    is_difference: bool,
}

impl DryRun {
    /// The inputs of a key have changed.
    pub(super) fn on_change(&mut self, key: &Key, now: Instant) {
        if let Some(unwritten) = self.0.get_mut(key) {
            unwritten.changed_at = now;
            unwritten.logged = false;
        }
    }

    /// Logs the writes of a plan, in the span of its sync. Returns when to sync the key again, to find out whether the other
    /// controller has made them.
    pub(super) fn on_plan(&mut self, key: &Key, writes: &[Write], now: Instant) -> Option<Duration> {
        if writes.is_empty() {
            if self.0.remove(key).is_some_and(|unwritten| unwritten.is_difference) {
                tracing::info!("dry run: nothing is left to write, the difference is gone");
            }
            return None;
        }
        let unwritten = self.0.entry(key.clone()).or_insert(Unwritten {
            changed_at: now,
            logged: false,
            is_difference: false,
        });
        let due_in = DIFFERENCE_DELAY.saturating_sub(now.saturating_duration_since(unwritten.changed_at));
        if !due_in.is_zero() {
            for write in writes {
                tracing::info!(write = %Escaped(&write.operation), "dry run: would write");
            }
            return Some(due_in);
        }
        if !unwritten.logged {
            for write in writes {
                tracing::warn!(
                    write = %Escaped(&write.operation),
                    "dry run: difference: would still write, {} s after the last change of the inputs",
                    DIFFERENCE_DELAY.as_secs()
                );
            }
        }
        unwritten.logged = true;
        unwritten.is_difference = true;
        None
    }

    /// The number of keys with a difference.
    pub(super) fn differences(&self) -> usize {
        self.0.values().filter(|unwritten| unwritten.is_difference).count()
    }
}
