//! A sync whose writes are in flight, and the handling of their results.

use std::time::{Duration, Instant};

use k8s_openapi::{api::discovery::v1::EndpointSlice, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_controller::{Key, SyncFailure, SyncOutcome, WriteError};
use slice_core::{CompactSlice, Interner, WriteOutcome, WriteTicket};
use slice_reconciler::{Operation, Write};
use tracing::Span;

use crate::{
    api::WriteResult,
    queue::{QueuedKey, SyncStatus},
    slice_cache::{SliceCache, decode},
};

/// A sync of a key.
#[derive(Debug)]
pub(super) struct InFlight {
    key: Key,
    /// The span of the log lines of the sync.
    pub(super) span: Span,
    /// When the key was enqueued first since its last sync.
    pub(super) added_at: Instant,
    /// When the sync started.
    pub(super) started_at: Instant,
    /// The delay after which to sync the key again, even if nothing changes.
    pub(super) requeue_after: Option<Duration>,
    /// Whether the key takes part in resyncs: it has desired slices, events or a requeue.
    pub(super) is_active: bool,
    pub(super) outcome: SyncOutcome,
    /// The longest `Retry-After` of the failed writes.
    retry_after: Option<Duration>,
    /// Whether all failures are conflicts.
    only_conflicts: bool,
    /// Writes without a result, by their index in the plan.
    pending: Vec<Option<PendingWrite>>,
}

/// A write without a result.
#[derive(Debug)]
enum PendingWrite {
    Create {
        name: String,
        ticket: WriteTicket<Key>,
    },
    Update {
        name: String,
        uid: String,
        ticket: WriteTicket<Key>,
    },
    Delete {
        name: String,
        uid: String,
    },
}

impl InFlight {
    pub(super) fn new(queued: QueuedKey, span: Span, now: Instant) -> Self {
        Self {
            key: queued.key,
            span,
            added_at: queued.added_at,
            started_at: now,
            requeue_after: None,
            is_active: false,
            outcome: SyncOutcome::default(),
            retry_after: None,
            only_conflicts: true,
            pending: Vec::new(),
        }
    }

    /// Called before the writes of the plan are sent.
    pub(super) fn begin_writes(&mut self, writes: &[Write], slices: &mut SliceCache) {
        slices.begin_sync(&self.key);
        let pending = writes
            .iter()
            .map(|write| Some(PendingWrite::begin(&write.operation, &self.key, slices)));
        self.pending = pending.collect();
    }

    /// Applies the result of a write to the slice cache and to the outcome. `is_ours` checks the managed-by label of a live
    /// slice, `key_of` returns its key.
    pub(super) fn on_write_result(
        &mut self,
        write: usize,
        result: WriteResult,
        slices: &mut SliceCache,
        interner: &mut Interner,
        is_ours: impl Fn(&EndpointSlice) -> bool,
        key_of: impl Fn(&ObjectMeta) -> Option<Key>,
    ) {
        let Some(pending) = self.pending.get_mut(write).and_then(Option::take) else {
            return;
        };
        match result {
            WriteResult::Stored(slice) => {
                self.on_stored(pending, key_of(&slice.metadata), decode(&slice, interner), slices);
            }
            WriteResult::Deleted => self.on_deleted(&pending, slices),
            WriteResult::Conflict(live) => {
                let live = live.filter(|slice| is_ours(slice));
                let live = live.map(|slice| (key_of(&slice.metadata), decode(&slice, interner)));
                self.on_conflict(pending, live, slices);
            }
            WriteResult::NamespaceTerminating => {
                self.outcome.namespace_terminating = true;
                pending.abort(&self.key, slices);
            }
            WriteResult::Failed { error, retry_after } => {
                self.only_conflicts = false;
                self.retry_after = self.retry_after.max(retry_after);
                self.outcome
                    .failures
                    .push(pending.abort(&self.key, slices).into_failure(error));
            }
            // Not a failure of its own: the write that it depends on is reported.
            WriteResult::DependencyFailed => drop(pending.abort(&self.key, slices)),
        }
    }

    /// Fails the writes that have no result: their writer panicked.
    pub(super) fn abort_pending(&mut self, slices: &mut SliceCache) {
        for pending in std::mem::take(&mut self.pending).into_iter().flatten() {
            self.only_conflicts = false;
            let failure = pending.abort(&self.key, slices).into_failure(WriteError::Aborted);
            self.outcome.failures.push(failure);
        }
    }

    /// The number of writes without a result.
    pub(super) fn pending_writes(&self) -> usize {
        self.pending.iter().flatten().count()
    }

    /// How the sync ended, for the work queue.
    pub(super) fn status(&self) -> SyncStatus {
        if self.outcome.is_success() {
            SyncStatus::Success
        } else if self.only_conflicts
            && self
                .outcome
                .failures
                .iter()
                .all(|failure| !matches!(failure, SyncFailure::Sync(_)))
        {
            SyncStatus::Conflict
        } else {
            SyncStatus::Failure {
                retry_after: self.retry_after,
            }
        }
    }

    fn on_stored(&mut self, pending: PendingWrite, key: Option<Key>, slice: CompactSlice, slices: &mut SliceCache) {
        let writes = &mut self.outcome.writes;
        let (count, ticket) = match pending {
            PendingWrite::Create { ticket, .. } => (&mut writes.created, ticket),
            PendingWrite::Update { ticket, .. } => (&mut writes.updated, ticket),
            // A finalizer keeps it as a terminating slice.
            PendingWrite::Delete { .. } => {
                writes.deleted += 1;
                slices.apply(key, slice);
                return;
            }
        };
        *count += 1;
        if slices.write_succeeded(&self.key, ticket, slice) == WriteOutcome::Superseded {
            self.requeue_after = Some(Duration::ZERO);
        }
    }

    fn on_deleted(&mut self, pending: &PendingWrite, slices: &mut SliceCache) {
        if let PendingWrite::Delete { uid, .. } = pending {
            self.outcome.writes.deleted += 1;
            slices.delete_succeeded(uid);
        }
    }

    /// Handles a conflict: puts the live slice into the cache if it is ours, so that the next sync is based on it. After a
    /// create whose name a foreign slice has, reserves the name.
    fn on_conflict(
        &mut self,
        pending: PendingWrite,
        live: Option<(Option<Key>, CompactSlice)>,
        slices: &mut SliceCache,
    ) {
        let (name, uid) = pending.slice();
        let (name, uid) = (name.to_owned(), uid.map(ToOwned::to_owned));
        let failure = pending.abort(&self.key, slices).into_failure(WriteError::Conflict);
        self.outcome.failures.push(failure);
        match (live, uid) {
            // The slice with this name is ours, but of another key.
            (Some((live_key, _)), None) if live_key.as_ref() != Some(&self.key) => {
                slices.reserve_name(&self.key, name);
            }
            (Some((live_key, live)), _) => drop(slices.apply(live_key, live)),
            (None, Some(uid)) => drop(slices.remove(&uid)),
            (None, None) => slices.reserve_name(&self.key, name),
        }
    }
}

impl PendingWrite {
    /// Registers a write with the slice cache before it is sent.
    fn begin(operation: &Operation, key: &Key, slices: &mut SliceCache) -> Self {
        match operation {
            Operation::Create(slice) => Self::Create {
                name: slice.metadata.name.clone().unwrap_or_default(),
                ticket: slices.begin_write(key),
            },
            Operation::Update(slice) => Self::Update {
                name: slice.metadata.name.clone().unwrap_or_default(),
                uid: slice.metadata.uid.clone().unwrap_or_default(),
                ticket: slices.begin_write(key),
            },
            Operation::Delete(deletion) => {
                let uid = deletion.uid.clone().unwrap_or_default();
                slices.begin_delete(key, &uid);
                Self::Delete {
                    name: deletion.name.clone(),
                    uid,
                }
            }
        }
    }

    /// The name of the slice, and its uid if it exists already.
    fn slice(&self) -> (&str, Option<&str>) {
        match self {
            Self::Create { name, .. } => (name, None),
            Self::Update { name, uid, .. } | Self::Delete { name, uid } => (name, Some(uid)),
        }
    }

    /// Removes the write from the expectations of the slice cache.
    fn abort(self, key: &Key, slices: &mut SliceCache) -> Aborted {
        match self {
            Self::Create { ticket, .. } => {
                slices.write_failed(ticket);
                Aborted::Create
            }
            Self::Update { name, ticket, .. } => {
                slices.write_failed(ticket);
                Aborted::Update(name)
            }
            Self::Delete { name, uid } => {
                slices.delete_failed(key, &uid);
                Aborted::Delete(name)
            }
        }
    }
}

/// A write that failed, or whose result is unknown.
enum Aborted {
    Create,
    Update(String),
    Delete(String),
}

impl Aborted {
    fn into_failure(self, error: WriteError) -> SyncFailure {
        match self {
            Self::Create => SyncFailure::Create(error),
            Self::Update(slice) => SyncFailure::Update { slice, error },
            Self::Delete(slice) => SyncFailure::Delete { slice, error },
        }
    }
}
