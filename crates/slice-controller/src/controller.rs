//! The `Controller` trait, the input of a sync and its results.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_core::CompactSlice;
use slice_reconciler::Plan;

use crate::{
    Event, EventContext, EventSpec, Key, Measurement, MetricSpec, ObjectRef, SyncError, SyncFailure, WatchSpec,
};

/// A controller: declares its watches, enqueues the keys that a watch event affects, and plans the slices of a key.
///
/// Reflectors, relists, the work queue, retries, the slice cache and the writes belong to the runtime. The runtime
/// passes objects to a controller only through [`apply`](Self::apply) and [`delete`](Self::delete).
pub trait Controller {
    /// The id of a watch: an enum, or `()` for a single watch.
    type WatchId: Copy + Send + Sync + 'static;
    /// A watched object, decoded; an enum if several types are watched.
    type Object: Send + 'static;

    /// The resources to watch.
    fn watches(&self) -> Vec<WatchSpec<Self::WatchId, Self::Object>>;

    /// Handles a new or changed object: caches the fields that matter, and enqueues the affected keys. A relist repeats
    /// unchanged objects; they should enqueue nothing.
    fn apply(&mut self, object: Self::Object, context: &mut EventContext);

    /// Handles a deleted object: removes it from the cache, and enqueues the affected keys. The object may be unknown.
    fn delete(&mut self, watch: Self::WatchId, object: &ObjectRef, context: &mut EventContext);

    /// Plans the slices of a key. Called only after the initial lists of all watches are complete.
    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError>;

    /// The key of a slice with our managed-by label; `None` if the slice should be ignored. A key has the namespace of its
    /// slices.
    fn key_of(&self, slice: &ObjectMeta) -> Option<Key> {
        Key::from_slice_labels(slice)
    }

    /// About how many published endpoints would be removed if these objects were deleted. Asked when a relist lacks objects: if
    /// most endpoints of the cluster depend on them, a second list has to confirm that they are gone. By default one per object.
    fn endpoints_affected(&self, _watch: Self::WatchId, missing: &[ObjectRef]) -> usize {
        missing.len()
    }

    /// Called before keys are synced, for work that is done once per batch of watch events.
    fn before_sync(&mut self, _context: &mut EventContext) {}

    /// Called with the outcome of each sync, before the next sync of that key.
    fn on_sync_result(&mut self, _key: &Key, _outcome: &SyncOutcome) {}

    /// The event to record for a key that fails repeatedly.
    fn failure_event(&self, _key: &Key, _failures: &[SyncFailure]) -> Option<Event> {
        None
    }

    /// The events that the controller records.
    fn events(&self) -> &'static [&'static EventSpec] {
        &[]
    }

    /// The metrics that the controller records.
    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &[]
    }

    /// Takes the measurements since the last call; called after each [`sync`](Self::sync) and
    /// [`on_sync_result`](Self::on_sync_result).
    fn take_measurements(&mut self) -> Vec<Measurement> {
        Vec::new()
    }
}

/// The input of a sync, besides the state of the controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyncContext<'a> {
    /// The existing slices of the key in the order of their names, terminating ones included.
    pub existing: &'a [CompactSlice],
    /// Names that new slices must not have, because foreign slices have them.
    pub reserved_names: &'a [String],
    /// The current time.
    pub now: Timestamp,
}

/// The result of a sync.
///
/// The runtime drops a key without slices if the plan has no stats and the result has no events and no requeue. All other
/// keys are synced at every resync.
#[derive(Clone, Debug, Default)]
pub struct SyncResult {
    /// The writes to execute.
    pub plan: Plan,
    /// Events to record, whether or not the writes succeed.
    pub events: Vec<Event>,
    /// Requeues the key after this time.
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

impl SyncResult {
    /// No writes: the slices stay as they are, and the event reports why.
    #[must_use]
    pub fn event_only(event: Event) -> Self {
        Self {
            events: vec![event],
            ..Self::default()
        }
    }
}

/// The outcome of a sync and its writes.
#[derive(Debug, Default)]
pub struct SyncOutcome {
    /// The writes that succeeded.
    pub writes: WriteCounts,
    /// The failures; empty after success.
    pub failures: Vec<SyncFailure>,
    /// Whether the API server rejected creates because the namespace is terminating, which is no failure (R107).
    pub namespace_terminating: bool,
    /// Whether only a dry run of one write was sent instead of the plan, because the labels of slices were rewritten before.
    /// The key is synced again.
    pub probe: bool,
    /// The time from the sync to the last response.
    pub duration: Duration,
}

impl SyncOutcome {
    /// Whether the plan was executed and nothing failed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && !self.probe
    }
}

/// Numbers of writes by operation.
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
    /// Whether any write is counted.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// The number of writes per operation, with the label value for metrics.
    #[must_use]
    pub fn by_operation(self) -> [(&'static str, usize); 3] {
        [
            ("create", self.created),
            ("update", self.updated),
            ("delete", self.deleted),
        ]
    }
}
