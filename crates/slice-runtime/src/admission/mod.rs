//! Admission to the API: which due key may send its writes, and when.
//!
//! A pure state machine: time is an argument. Its rules:
//! * A key takes a slot while its writes are in flight. A key without a response for [`STALL_AFTER`] gives its slot up, so that
//!   writes that hang in a webhook of one namespace do not stop other keys (I10). The number of writes that hang this way is
//!   bounded; a namespace with many of them waits.
//! * Among due keys, those that take endpoints out of service come first, at most [`REMOVALS_IN_A_ROW`] in a row. Keys whose last
//!   sync failed take every other turn, and at most half of the slots.
//! * The gate is closed for all keys by what concerns all requests: a rejection by priority and fairness, a rejected list or
//!   watch, or [`REFUSED_KEYS`] different keys refused in a row (F6, F12). A refusal of one key delays that key only.
//! * The concurrency limit is halved whenever the gate closes, and grows by one per round of successful writes.

mod gate;
mod response;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use slice_controller::Key;
use slice_reconciler::MAX_IN_FLIGHT;

use crate::queue::{Lane, QueuedKey, WorkQueue};
use gate::Gate;
pub(crate) use response::Response;

/// The time without a response after which a key gives its slot up.
const STALL_AFTER: Duration = Duration::from_millis(500);
/// Maximum number of writes of keys that gave their slots up. Together with the writes of keys with a slot they fit into the
/// 100 concurrent streams that an API server allows per HTTP/2 connection.
const STALLED_WRITES: usize = 64;
/// The number of such writes from which on a namespace waits.
const STALLED_WRITES_PER_NAMESPACE: usize = 16;
/// Removals in a row before another key is admitted.
const REMOVALS_IN_A_ROW: u32 = 4;
/// Different keys refused in a row that close the gate.
const REFUSED_KEYS: usize = 3;
/// The admission component.
#[derive(Debug)]
pub(crate) struct Admission {
    /// The maximum of `limit`.
    max: usize,
    /// The concurrency limit: the number of slots, from 1 to `max`. Its fraction counts successful writes.
    limit: f64,
    slots: HashMap<Key, Slot>,
    gate: Gate,
    removals_in_a_row: u32,
    last_was_retry: bool,
}

/// A key whose writes are in flight.
#[derive(Debug)]
struct Slot {
    /// Maximum number of its writes in flight.
    writes: usize,
    is_retry: bool,
    /// When the writes were sent, or the last response arrived.
    last_response: Instant,
    /// Whether the key gave its slot up.
    stalled: bool,
}

/// What admission shows in metrics and debug output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdmissionState {
    /// The concurrency limit.
    pub(crate) limit: usize,
    /// Keys with a slot.
    pub(crate) slots_in_use: usize,
    /// Keys that gave their slots up.
    pub(crate) stalled: usize,
    /// When the gate opens, if it is closed.
    pub(crate) closed_until: Option<Instant>,
}

impl Admission {
    /// Admission of at most `max` keys at a time, not counting stalled ones.
    pub(crate) fn new(max: NonZeroUsize) -> Self {
        let max = max.get();
        Self {
            max,
            limit: to_f64(max),
            slots: HashMap::new(),
            gate: Gate::default(),
            removals_in_a_row: 0,
            last_was_retry: false,
        }
    }

    /// Takes the next due key that is admitted.
    pub(crate) fn next(&mut self, queue: &mut WorkQueue, now: Instant) -> Option<QueuedKey> {
        self.update_stalled(now);
        queue.promote_due(now);
        let lane = self.next_lane(queue, now)?;
        let queued = queue.take(lane, |namespace| self.admits(lane, namespace))?;
        self.last_was_retry = lane == Lane::Retry;
        match lane {
            Lane::Removal => self.removals_in_a_row += 1,
            Lane::Change => self.removals_in_a_row = 0,
            Lane::Retry => {}
        }
        Some(queued)
    }

    /// Whether a due key is admitted now.
    pub(crate) fn has_next(&self, queue: &WorkQueue, now: Instant) -> bool {
        self.next_lane(queue, now).is_some()
    }

    /// When to call [`next`](Self::next) again if neither a key becomes due nor a response arrives: the gate opens, or a key
    /// gives its slot up.
    pub(crate) fn next_deadline(&self, queue: &WorkQueue, now: Instant) -> Option<Instant> {
        if let Some(opens_at) = self.gate.closed_until(now) {
            return Some(opens_at);
        }
        let active = self.slots.values().filter(|slot| !slot.stalled);
        let stalls_at = active
            .map(|slot| slot.last_response + STALL_AFTER)
            .filter(|stalls_at| *stalls_at > now)
            .min();
        if self.has_free_slot() {
            return queue.next_deadline().into_iter().chain(stalls_at).min();
        }
        stalls_at
    }

    /// The writes of a key are sent: it takes a slot. Returns how many of them may be in flight at the same time.
    pub(crate) fn start(&mut self, key: &Key, is_retry: bool, writes: usize, now: Instant) -> NonZeroUsize {
        // A key whose last sync failed sends one write at a time.
        let in_flight = if is_retry { NonZeroUsize::MIN } else { MAX_IN_FLIGHT };
        let slot = Slot {
            writes: writes.min(in_flight.get()),
            is_retry,
            last_response: now,
            stalled: false,
        };
        self.slots.insert(key.clone(), slot);
        in_flight
    }

    /// A write of a key has a result. Returns until when the gate is closed, if this closed it.
    pub(crate) fn on_response(&mut self, key: &Key, response: Response, now: Instant) -> Option<Instant> {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.last_response = now;
        }
        match response {
            Response::Accepted => {
                self.gate.on_accepted();
                self.limit = (self.limit + self.limit.recip()).min(to_f64(self.max));
                None
            }
            Response::Overloaded(retry_after) => self.close(retry_after, now),
            Response::Refused(retry_after) if self.gate.on_refused(key) => self.close(retry_after, now),
            Response::Refused(_) | Response::Rejected | Response::Missing => None,
        }
    }

    /// Closes the gate for the server's `Retry-After`, and halves the concurrency limit. Returns until when the gate is closed,
    /// if it was open.
    pub(crate) fn close(&mut self, retry_after: Option<Duration>, now: Instant) -> Option<Instant> {
        let closed_until = self.gate.close(retry_after, now)?;
        self.limit = (self.limit / 2.0).max(1.0);
        Some(closed_until)
    }

    /// All writes of a key are done.
    pub(crate) fn end(&mut self, key: &Key) {
        self.slots.remove(key);
    }

    pub(crate) fn state(&self, now: Instant) -> AdmissionState {
        let slots_in_use = self.slots_in_use();
        AdmissionState {
            limit: self.slot_limit(),
            slots_in_use,
            stalled: self.slots.len() - slots_in_use,
            closed_until: self.gate.closed_until(now),
        }
    }

    /// The lane of the next due key that is admitted.
    fn next_lane(&self, queue: &WorkQueue, now: Instant) -> Option<Lane> {
        if self.gate.closed_until(now).is_some() || !self.has_free_slot() {
            return None;
        }
        let [removal, change, retry] =
            Lane::ALL.map(|lane| queue.is_ready(lane, |namespace| self.admits(lane, namespace)));
        let retries = self.slots.values().filter(|slot| slot.is_retry && !slot.stalled);
        let may_retry = retry && retries.count() < (self.slot_limit() / 2).max(1);
        if may_retry && !(self.last_was_retry && (removal || change)) {
            Some(Lane::Retry)
        } else if removal && !(change && self.removals_in_a_row >= REMOVALS_IN_A_ROW) {
            Some(Lane::Removal)
        } else {
            change.then_some(Lane::Change)
        }
    }

    /// Whether keys of a namespace are admitted: not while many of its writes hang. Retries stop at half of that, so that a key
    /// of the namespace that does not fail is admitted.
    fn admits(&self, lane: Lane, namespace: &str) -> bool {
        let bound = match lane {
            Lane::Removal | Lane::Change => STALLED_WRITES_PER_NAMESPACE,
            Lane::Retry => STALLED_WRITES_PER_NAMESPACE / 2,
        };
        self.stalled_writes(|key| &*key.namespace == namespace) < bound
    }

    /// The number of writes of stalled keys that a condition selects.
    fn stalled_writes(&self, selects: impl Fn(&Key) -> bool) -> usize {
        let stalled = self.slots.iter().filter(|(key, slot)| slot.stalled && selects(key));
        stalled.map(|(_, slot)| slot.writes).sum()
    }

    /// Marks keys as stalled that have had no response for too long, as long as the bound allows. Retries may use half of it.
    fn update_stalled(&mut self, now: Instant) {
        let mut total = self.stalled_writes(|_| true);
        for slot in self.slots.values_mut() {
            let bound = if slot.is_retry {
                STALLED_WRITES / 2
            } else {
                STALLED_WRITES
            };
            if !slot.stalled && slot.last_response + STALL_AFTER <= now && total + slot.writes <= bound {
                slot.stalled = true;
                total += slot.writes;
            }
        }
    }

    fn slots_in_use(&self) -> usize {
        self.slots.values().filter(|slot| !slot.stalled).count()
    }

    fn has_free_slot(&self) -> bool {
        self.slots_in_use() < self.slot_limit()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the limit is between 1 and a number of slots"
    )]
    fn slot_limit(&self) -> usize {
        self.limit as usize
    }
}

fn to_f64(slots: usize) -> f64 {
    f64::from(u32::try_from(slots).unwrap_or(u32::MAX))
}
