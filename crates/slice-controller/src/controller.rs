//! The trait that the author of a controller implements, with what it is given and returns.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::CompactSlice;
use slice_reconciler::Plan;

use crate::{Event, EventContext, Key, Measurement, MetricSpec, ObjectRef, SyncError, SyncFailure, WatchSpec};

/// A controller: what it watches, which keys a change concerns, and which slices a key should have.
///
/// The rest belongs to the runtime: reflectors, relists, the work queue, retries, the cache of existing slices and the
/// writes. Everything that a controller knows arrives by [`apply`](Self::apply) and [`delete`](Self::delete).
pub trait Controller {
    /// How the controller tells its watches apart: an enum, or `()` for a single one.
    type WatchId: Copy + Send + Sync + 'static;
    /// A watched object, decoded; an enum if several types are watched.
    type Object: Send + 'static;

    /// What to watch.
    fn watches(&self) -> Vec<WatchSpec<Self::WatchId, Self::Object>>;

    /// An object is new or has changed: keeps what matters of it, and enqueues the keys that the change concerns. After a
    /// relist, objects arrive again that have not changed; they should enqueue nothing.
    fn apply(&mut self, object: Self::Object, context: &mut EventContext);

    /// An object was deleted: forgets it, and enqueues the keys that this concerns. The object may be unknown.
    fn delete(&mut self, watch: Self::WatchId, object: &ObjectRef, context: &mut EventContext);

    /// Decides which slices a key should have. Called with complete knowledge only: every watch has been listed.
    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError>;

    /// The key of a slice with our managed-by label; none if the slice is not to be touched. A key has the namespace of its
    /// slices.
    fn key_of(&self, slice: &ObjectMeta) -> Option<Key> {
        Key::from_slice_labels(slice)
    }

    /// Called before keys are synced, for work that is better done once for many watch events than for each.
    fn before_sync(&mut self, _context: &mut EventContext) {}

    /// Called with the outcome of each sync, before the next sync of that key.
    fn on_sync_result(&mut self, _key: &Key, _outcome: &SyncOutcome) {}

    /// The event to record for a key that fails repeatedly.
    fn failure_event(&self, _key: &Key, _failures: &[SyncFailure]) -> Option<Event> {
        None
    }

    /// The metrics that it records.
    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &[]
    }

    /// Takes the measurements since the last call; called after each [`sync`](Self::sync) and
    /// [`on_sync_result`](Self::on_sync_result).
    fn take_measurements(&mut self) -> Vec<Measurement> {
        Vec::new()
    }
}

/// What a decision is made with, besides what the controller knows.
#[derive(Clone, Copy, Debug)]
pub struct SyncContext<'a> {
    /// The existing slices of the key in the order of their names, terminating ones included.
    pub existing: &'a [CompactSlice],
    /// Names that new slices must not have: objects of others were found to have them.
    pub reserved_names: &'a [String],
    /// The current time.
    pub now: Timestamp,
}

/// What was decided about a key.
///
/// A key without slices is forgotten until it is enqueued again if its plan has no summaries, and there are no events and no
/// requeue. All other keys are synced at every resync.
#[derive(Clone, Debug, Default)]
pub struct SyncResult {
    /// The writes.
    pub plan: Plan,
    /// Events to record, whether or not the writes succeed.
    pub events: Vec<Event>,
    /// When to sync the key again, even if nothing changes.
    pub requeue_after: Option<Duration>,
}

impl From<Plan> for SyncResult {
    fn from(plan: Plan) -> Self {
        Self {
            plan,
            ..Self::default()
        }
    }
}

/// How a sync ended.
#[derive(Debug, Default)]
pub struct SyncOutcome {
    /// Writes that succeeded.
    pub writes: WriteCounts,
    /// What failed; empty after success.
    pub failures: Vec<SyncFailure>,
    /// Whether creates were refused because the namespace is terminating, which is no failure (R107).
    pub namespace_terminating: bool,
    /// The time from the decision to the last response.
    pub duration: Duration,
}

impl SyncOutcome {
    /// Whether nothing failed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Numbers of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Slices created.
    pub created: usize,
    /// Slices updated.
    pub updated: usize,
    /// Slices deleted.
    pub deleted: usize,
}

impl WriteCounts {
    /// Whether there are any.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// The number of writes of each operation, by its name in metrics.
    #[must_use]
    pub fn by_operation(self) -> [(&'static str, usize); 3] {
        [
            ("create", self.created),
            ("update", self.updated),
            ("delete", self.deleted),
        ]
    }
}
