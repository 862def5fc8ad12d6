//! A sync whose writes are in flight, and the handling of their results.

use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_controller::{Key, ObjectRef, SyncFailure, SyncOutcome, WriteError};
use slice_core::{CompactSlice, Interner, WriteOutcome};
use slice_reconciler::{Operation, Write};
use tracing::Span;

use super::pending_write::PendingWrite;
use crate::{
    api::WriteResult,
    escape::Escaped,
    queue::{QueuedKey, SyncStatus},
    slice_cache::{SliceCache, decode, is_newer},
};

/// The delay of a key one of whose slices was stored with other labels, at least: a webhook or policy may do so with every
/// write.
const RELABELLED_DELAY: Duration = Duration::from_secs(10);

/// A sync of a key.
#[derive(Debug)]
pub(super) struct InFlight {
    key: Key,
    /// The span of the log lines of the sync.
    pub(super) span: Span,
    /// When the key was enqueued first since a successful sync of it began.
    pub(super) changed_at: Instant,
    /// When the sync started.
    pub(super) started_at: Instant,
    /// The delay after which to sync the key again, even if nothing changes.
    pub(super) requeue_after: Option<Duration>,
    /// Whether the key takes part in resyncs: it has desired slices, events or a requeue.
    pub(super) is_active: bool,
    pub(super) outcome: SyncOutcome,
    /// The longest `Retry-After` of the failed writes, or the delay after a slice was stored with other labels.
    retry_after: Option<Duration>,
    /// The epoch of the slice cache in which the writes began.
    epoch: u64,
    /// The version that the watch of slices had reached when the writes began.
    observed_version: Option<String>,
    /// Whether a slice was stored with the labels that were sent, and whether one was not.
    labels_kept: bool,
    labels_changed: bool,
    /// Writes without a result, by their index in the plan.
    pending: Vec<Option<PendingWrite>>,
}

/// The owner of a slice by its labels.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The managed-by label is not ours.
    Foreign,
    /// The managed-by label is ours. None if the labels name no key.
    Ours(Option<Key>),
}

impl InFlight {
    pub(super) fn new(queued: QueuedKey, span: Span, now: Instant) -> Self {
        Self {
            key: queued.key,
            span,
            changed_at: queued.changed_at,
            started_at: now,
            requeue_after: None,
            is_active: false,
            outcome: SyncOutcome::default(),
            retry_after: None,
            epoch: 0,
            observed_version: None,
            labels_kept: false,
            labels_changed: false,
            pending: Vec::new(),
        }
    }

    /// Called with the plan before its writes are sent. Returns the writes to send: the plan, or a probe if the labels of
    /// slices of the key were rewritten.
    pub(super) fn begin_writes(&mut self, writes: Vec<Write>, slices: &mut SliceCache) -> Vec<Write> {
        let is_probed = slices.reserved.is_probed(&self.key, self.started_at);
        let probe = if is_probed {
            first_create_or_update(&writes)
        } else {
            None
        };
        self.outcome.probe = probe.is_some();
        let mut writes = probe.map_or(writes, |probe| vec![probe]);
        self.epoch = slices.epoch();
        self.observed_version = slices.observed_version().map(ToOwned::to_owned);
        slices.begin_sync(&self.key);
        let pending = writes
            .iter()
            .map(|write| Some(PendingWrite::begin(&write.operation, &self.key, slices)));
        self.pending = pending.collect();
        if self.outcome.probe
            && let [
                Write {
                    operation: Operation::Create(slice),
                    ..
                },
            ] = &mut writes[..]
        {
            // Any name serves; one that exists would be rejected before the labels are known.
            slice.metadata.generate_name = slice.metadata.name.take();
        }
        writes
    }

    /// Applies the result of a write to the slice cache and to the outcome. `owner_of` classifies a slice by its labels. Returns
    /// other keys to enqueue.
    pub(super) fn on_write_result(
        &mut self,
        write: usize,
        result: WriteResult,
        slices: &mut SliceCache,
        interner: &mut Interner,
        owner_of: impl Fn(&ObjectMeta) -> Ownership,
        now: Instant,
    ) -> Vec<Key> {
        let Some(pending) = self.pending.get_mut(write).and_then(Option::take) else {
            return Vec::new();
        };
        match result {
            WriteResult::Failed { error, retry_after } => {
                self.retry_after = self.retry_after.max(retry_after);
                self.fail(pending, error, slices);
            }
            // Not a failure of its own: the write that it depends on is reported.
            WriteResult::DependencyFailed => drop(pending.abort(slices)),
            WriteResult::NamespaceTerminating => {
                self.outcome.namespace_terminating = true;
                pending.abort(slices);
            }
            // Its versions do not compare with those of the cache.
            _ if self.epoch != slices.epoch() => {
                self.requeue_after = Some(Duration::ZERO);
                pending.abort(slices);
            }
            WriteResult::Stored(slice) => {
                let owner = owner_of(&slice.metadata);
                return self.on_stored(pending, owner, decode(&slice, interner), slices, now);
            }
            WriteResult::Deleted => self.on_deleted(&pending, slices, now),
            WriteResult::Conflict(live) => {
                let live = live.map(|slice| (owner_of(&slice.metadata), decode(&slice, interner)));
                return self.on_conflict(pending, live, slices, now);
            }
            WriteResult::UndecodableConflict(live) => self.on_undecodable_conflict(pending, &live, slices, now),
        }
        Vec::new()
    }

    /// Called when all writes are done. Fails the writes that have no result: their writer panicked.
    pub(super) fn end_writes(&mut self, slices: &mut SliceCache) {
        for pending in std::mem::take(&mut self.pending).into_iter().flatten() {
            self.fail(pending, WriteError::Aborted, slices);
        }
        if self.labels_kept && !self.labels_changed {
            slices.reserved.labels_kept(&self.key);
        }
    }

    /// The number of writes without a result.
    pub(super) fn pending_writes(&self) -> usize {
        self.pending.iter().flatten().count()
    }

    /// How the sync ended, for the work queue.
    pub(super) fn status(&self) -> SyncStatus {
        let failures = &self.outcome.failures;
        if failures.is_empty() {
            SyncStatus::Success
        } else if failures.iter().all(SyncFailure::is_conflict) {
            SyncStatus::Conflict
        } else {
            SyncStatus::Failure {
                retry_after: self.retry_after,
            }
        }
    }

    fn on_stored(
        &mut self,
        pending: PendingWrite,
        owner: Ownership,
        slice: CompactSlice,
        slices: &mut SliceCache,
        now: Instant,
    ) -> Vec<Key> {
        let is_create = matches!(pending, PendingWrite::Create { .. });
        let ticket = match pending {
            // A finalizer keeps it as a terminating slice.
            PendingWrite::Delete { uid, .. } => {
                self.outcome.writes.deleted += 1;
                return self.move_slice(&uid, owner, slice, slices, now);
            }
            pending if owner != Ownership::Ours(Some(self.key.clone())) => {
                return self.on_relabelled(pending, owner, slice, slices, now);
            }
            PendingWrite::Create { ticket, .. } | PendingWrite::Update { ticket, .. } => ticket,
        };
        self.labels_kept = true;
        if self.outcome.probe {
            slices.write_failed(ticket);
            self.requeue_after = Some(Duration::ZERO);
            tracing::info!("labels of EndpointSlices are kept again; the key is requeued");
            return Vec::new();
        }
        let writes = &mut self.outcome.writes;
        *(if is_create {
            &mut writes.created
        } else {
            &mut writes.updated
        }) += 1;
        if slices.write_succeeded(&self.key, ticket, slice) == WriteOutcome::Superseded {
            self.requeue_after = Some(Duration::ZERO);
        }
        Vec::new()
    }

    /// Handles a response with other labels than were sent, so that the slice is not of this key: a failure.
    fn on_relabelled(
        &mut self,
        pending: PendingWrite,
        owner: Ownership,
        slice: CompactSlice,
        slices: &mut SliceCache,
        now: Instant,
    ) -> Vec<Key> {
        let (name, uid) = pending.slice();
        let (name, uid) = (name.to_owned(), uid.map(ToOwned::to_owned));
        self.fail_relabelled(pending, &slice.metadata, slices);
        if self.outcome.probe {
            slices.reserved.probe_failed(&self.key, now);
            return Vec::new();
        }
        slices.reserved.relabelled(&self.key, &name, now);
        // The watch shows a created slice; an updated one is in the cache with its labels from before.
        uid.map_or(Vec::new(), |uid| self.move_slice(&uid, owner, slice, slices, now))
    }

    fn on_deleted(&mut self, pending: &PendingWrite, slices: &mut SliceCache, now: Instant) {
        if let PendingWrite::Delete { uid, .. } = pending {
            self.outcome.writes.deleted += 1;
            slices.left(&self.key, uid, now);
        }
    }

    /// Handles a conflict: puts the live slice into the cache if it is ours, so that the next sync is based on it. After a
    /// create whose name a slice outside the set has, reserves the name.
    fn on_conflict(
        &mut self,
        pending: PendingWrite,
        live: Option<(Ownership, CompactSlice)>,
        slices: &mut SliceCache,
        now: Instant,
    ) -> Vec<Key> {
        let (name, uid) = pending.slice();
        let (name, uid) = (name.to_owned(), uid.map(ToOwned::to_owned));
        match (live, uid) {
            (None, None) => {}
            (None, Some(uid)) => slices.left(&self.key, &uid, now),
            (Some((owner, live)), None) if owner != Ownership::Ours(Some(self.key.clone())) => {
                if !pending.has_owner_of(&live.metadata) {
                    slices.reserved.reserve(&self.key, &name, now);
                } else if slices.reserved.relabelled(&self.key, &name, now) {
                    // Not the first one: probably relabelled by a webhook, and not by an edit.
                    self.fail_relabelled(pending, &live.metadata, slices);
                    return Vec::new();
                }
            }
            (Some((owner, live)), uid) => {
                let enqueue = self.move_slice(&uid.unwrap_or_default(), owner, live, slices, now);
                self.fail(pending, WriteError::Conflict, slices);
                return enqueue;
            }
        }
        self.fail(pending, WriteError::Conflict, slices);
        Vec::new()
    }

    /// Handles a conflict with a slice that cannot be decoded: the next sync creates another one.
    fn on_undecodable_conflict(
        &mut self,
        pending: PendingWrite,
        live: &ObjectRef,
        slices: &mut SliceCache,
        now: Instant,
    ) {
        tracing::warn!(
            slice = %Escaped(&live.name),
            "EndpointSlice cannot be decoded; it is ignored, and its endpoints are published in another slice"
        );
        slices.apply_undecodable(Some(self.key.clone()), live, now);
        self.fail(pending, WriteError::Conflict, slices);
    }

    /// Applies a version of a slice that a response contains. Returns other keys to enqueue.
    fn move_slice(
        &self,
        uid: &str,
        owner: Ownership,
        slice: CompactSlice,
        slices: &mut SliceCache,
        now: Instant,
    ) -> Vec<Key> {
        match owner {
            Ownership::Foreign => {
                slices.left(&self.key, uid, now);
                Vec::new()
            }
            // The slice was changed and deleted while the write was in flight, and the watch has already shown both.
            Ownership::Ours(_)
                if slices.has_ended(&slice.metadata)
                    && is_newer(
                        slice.metadata.resource_version.as_deref(),
                        self.observed_version.as_deref(),
                    ) =>
            {
                Vec::new()
            }
            Ownership::Ours(key) => {
                let mut enqueue = slices.apply(key, slice, now);
                enqueue.retain(|key| *key != self.key);
                enqueue
            }
        }
    }

    fn fail(&mut self, pending: PendingWrite, error: WriteError, slices: &mut SliceCache) {
        let failure = pending.abort(slices).into_failure(error);
        self.outcome.failures.push(failure);
    }

    /// Fails a create or update whose slice is stored with these labels.
    fn fail_relabelled(&mut self, pending: PendingWrite, stored: &ObjectMeta, slices: &mut SliceCache) {
        self.labels_changed = true;
        self.retry_after = self.retry_after.max(Some(RELABELLED_DELAY));
        let error = pending.relabelled(stored);
        self.fail(pending, error, slices);
    }
}

/// The first create of a plan, else its first update: the write that shows whether labels are rewritten. Creates first, because
/// relabelled slices are created again.
fn first_create_or_update(writes: &[Write]) -> Option<Write> {
    let find = |is_probe: fn(&Operation) -> bool| writes.iter().find(|write| is_probe(&write.operation));
    let write = find(|operation| matches!(operation, Operation::Create(_)))
        .or_else(|| find(|operation| matches!(operation, Operation::Update(_))))?;
    Some(Write {
        operation: write.operation.clone(),
        depends_on: Vec::new(),
    })
}
