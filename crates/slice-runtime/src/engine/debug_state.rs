//! A snapshot of the engine for `/debug/state`.

use std::time::{Duration, Instant};

use serde::Serialize;
use slice_controller::{Controller, Key};

use super::Engine;
use crate::queue::{Lane, Place};

/// Keys in a snapshot. The engine handles no event while it builds one.
const MAX_KEYS: usize = 10_000;

/// The state of an engine.
#[derive(Debug, Serialize)]
pub(crate) struct DebugState {
    /// Whether the initial lists of all watches are complete. No key is synced before.
    synced: bool,
    /// Whether keys are synced: with leader election, this instance leads, and every watch has caught up with its term.
    active: bool,
    /// Keys with writes in flight.
    slots: Slots,
    /// Keys that are queued or in processing.
    key_count: usize,
    /// The first 10,000 of them: those in processing, then the others in the order in which they are due.
    keys: Vec<KeyState>,
}

#[derive(Debug, Serialize)]
struct Slots {
    in_use: usize,
    /// Keys that gave their slots up, because their writes hang.
    stalled: usize,
    limit: usize,
    /// How long all keys are held back, because the API server rejects requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_opens_in_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct KeyState {
    key: String,
    #[serde(flatten)]
    place: PlaceState,
    /// Failures in a row.
    failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_for_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum PlaceState {
    Processing {
        for_seconds: f64,
        /// Writes without a result.
        writes_pending: usize,
    },
    Ready {
        lane: Lane,
        /// Ready keys of its lane and namespace before this one.
        position: usize,
    },
    Delayed {
        due_in_seconds: f64,
    },
}

impl<C: Controller> Engine<C> {
    /// A snapshot of the queue and the writes in flight.
    pub(crate) fn debug_state(&self, now: Instant) -> DebugState {
        let processing = self.in_flight.iter().map(|(key, flight)| {
            let place = PlaceState::Processing {
                for_seconds: since(flight.started_at, now),
                writes_pending: flight.pending_writes(),
            };
            (key, place)
        });
        let queued = self.queue.entries().map(|(key, place)| {
            let place = match place {
                Place::Ready(lane, position) => PlaceState::Ready { lane, position },
                Place::Delayed(due) => PlaceState::Delayed {
                    due_in_seconds: since(now, due),
                },
            };
            (key, place)
        });
        let keys = processing.chain(queued).take(MAX_KEYS);
        let admission = self.admission.state(now);
        DebugState {
            synced: self.is_synced(),
            active: self.may_sync(),
            slots: Slots {
                in_use: admission.slots_in_use,
                stalled: admission.stalled,
                limit: admission.limit,
                gate_opens_in_seconds: admission.closed_until.map(|opens_at| since(now, opens_at)),
            },
            key_count: self.queue.len(),
            keys: keys.map(|(key, place)| self.key_state(key, place, now)).collect(),
        }
    }

    fn key_state(&self, key: &Key, place: PlaceState, now: Instant) -> KeyState {
        KeyState {
            key: key.to_string(),
            place,
            failures: self.queue.failures(key),
            failing_for_seconds: self.queue.failing_since(key).map(|start| since(start, now)),
            last_error: self.failing_keys.last_error(key).map(ToOwned::to_owned),
        }
    }
}

/// Seconds from one time to another, with milliseconds.
pub(crate) fn since(start: Instant, end: Instant) -> f64 {
    let millis = end.saturating_duration_since(start).as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)).as_secs_f64()
}
