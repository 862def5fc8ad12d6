//! The filter of events: drops repetitions, and bounds the events of each object and of all objects.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    hash::{BuildHasher as _, RandomState},
    time::{Duration, Instant},
};

use slice_controller::Event;
use slice_core::EventType;

/// Events of one object, as in client-go.
const OBJECT_LIMIT: Limit = Limit {
    burst: 25,
    interval: Duration::from_secs(5 * 60),
};
/// Events of all objects: enough for 9,000 objects that repeat an event every 15 minutes.
const GLOBAL_LIMIT: Limit = Limit {
    burst: 100,
    interval: Duration::from_millis(100),
};
/// Time until an event that lasts is recorded again. The API server deletes events after an hour by default.
const REPEAT_INTERVAL: Duration = Duration::from_secs(15 * 60);
/// Objects whose events are remembered, the most recently used ones.
const MAX_OBJECTS: usize = 16_384;
/// Reasons that are remembered per object, the most recently recorded ones.
const MAX_REASONS: usize = 8;

/// Decides whether an event is recorded. The memory is bounded: it holds hashes instead of texts.
pub(super) struct EventFilter {
    hasher: RandomState,
    all: TokenBucket,
    /// Each with the time of its last event.
    objects: HashMap<u64, (Instant, Object)>,
    /// The objects by that time.
    by_use: BTreeSet<(Instant, u64)>,
}

/// The decision about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Record,
    /// An equal event was recorded within the last 15 minutes.
    Repeated,
    Drop(DropReason),
}

/// Why an event is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// Its object has too many events.
    Spam,
    /// There are too many events of all objects.
    Global,
    /// The channel to the recorder is full.
    Channel,
    /// The request failed.
    Request,
}

impl DropReason {
    pub(crate) const ALL: [Self; 4] = [Self::Spam, Self::Global, Self::Channel, Self::Request];

    /// The value of the metric label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Spam => "spam",
            Self::Global => "global",
            Self::Channel => "channel",
            Self::Request => "request",
        }
    }
}

/// What is remembered of an object.
#[derive(Default)]
struct Object {
    bucket: TokenBucket,
    /// The last events, all of one type, the oldest first; one per reason.
    recorded: Vec<Recorded>,
}

/// A recorded event, as hashes.
struct Recorded {
    event_type: EventType,
    reason: u64,
    message: u64,
    at: Instant,
}

impl EventFilter {
    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            all: TokenBucket::default(),
            objects: HashMap::new(),
            by_use: BTreeSet::new(),
        }
    }

    /// Decides about an event. An event counts as recorded if the result is [`Decision::Record`].
    pub(super) fn admit(&mut self, event: &Event, channel_has_capacity: bool, now: Instant) -> Decision {
        let id = self.object_id(event);
        let known = self.remove(id);
        let is_known = known.is_some();
        let mut object = known.unwrap_or_default();
        let decision = self.decide(&mut object, event, channel_has_capacity, now);
        // A new object without a recorded event needs no memory, and must not displace another one.
        if is_known || decision == Decision::Record {
            self.insert(id, object, now);
        }
        decision
    }

    fn decide(&mut self, object: &mut Object, event: &Event, channel_has_capacity: bool, now: Instant) -> Decision {
        let event = self.hashes(event, now);
        if object.is_repetition(&event) {
            return Decision::Repeated;
        }
        let Some(bucket) = object.bucket.take(OBJECT_LIMIT, now) else {
            return Decision::Drop(DropReason::Spam);
        };
        if !channel_has_capacity {
            return Decision::Drop(DropReason::Channel);
        }
        let Some(all) = self.all.take(GLOBAL_LIMIT, now) else {
            return Decision::Drop(DropReason::Global);
        };
        self.all = all;
        object.bucket = bucket;
        object.record(event);
        Decision::Record
    }

    /// Forgets an event that could not be recorded, so that it is recorded when it is repeated.
    pub(super) fn forget(&mut self, event: &Event) {
        let (id, reason) = (self.object_id(event), self.hasher.hash_one(&event.reason));
        let message = self.hasher.hash_one(&event.message);
        if let Some((_, object)) = self.objects.get_mut(&id) {
            object
                .recorded
                .retain(|recorded| recorded.reason != reason || recorded.message != message);
        }
    }

    fn object_id(&self, event: &Event) -> u64 {
        let object = &event.regarding;
        self.hasher.hash_one((
            &object.api_version,
            &object.kind,
            &object.namespace,
            &object.name,
            &object.uid,
        ))
    }

    fn hashes(&self, event: &Event, at: Instant) -> Recorded {
        Recorded {
            event_type: event.event_type,
            reason: self.hasher.hash_one(&event.reason),
            message: self.hasher.hash_one(&event.message),
            at,
        }
    }

    fn remove(&mut self, id: u64) -> Option<Object> {
        let (used, object) = self.objects.remove(&id)?;
        self.by_use.remove(&(used, id));
        Some(object)
    }

    fn insert(&mut self, id: u64, object: Object, now: Instant) {
        if self.objects.len() >= MAX_OBJECTS
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.objects.remove(&oldest);
        }
        self.objects.insert(id, (now, object));
        self.by_use.insert((now, id));
    }
}

impl Object {
    fn is_repetition(&self, event: &Recorded) -> bool {
        self.recorded.iter().any(|recorded| {
            (recorded.event_type, recorded.reason, recorded.message) == (event.event_type, event.reason, event.message)
                && event.at.saturating_duration_since(recorded.at) < REPEAT_INTERVAL
        })
    }

    /// Another message replaces the one of the same reason. An event of the other type reports a change, so that those before it
    /// may be recorded again: hints that are enabled, disabled and enabled again are three events.
    fn record(&mut self, event: Recorded) {
        self.recorded
            .retain(|recorded| recorded.event_type == event.event_type && recorded.reason != event.reason);
        if self.recorded.len() >= MAX_REASONS {
            self.recorded.remove(0);
        }
        self.recorded.push(event);
    }
}

/// A limit of events: `burst` at once, then one per `interval`.
#[derive(Clone, Copy)]
struct Limit {
    burst: u32,
    interval: Duration,
}

/// A token bucket, as the time at which it is full again.
#[derive(Clone, Copy, Default)]
struct TokenBucket(Option<Instant>);

impl TokenBucket {
    /// The bucket after a token was taken; `None` if it is empty.
    fn take(self, limit: Limit, now: Instant) -> Option<Self> {
        let full_at = self.0.map_or(now, |full_at| full_at.max(now)) + limit.interval;
        (full_at - now <= limit.interval * limit.burst).then_some(Self(Some(full_at)))
    }
}
