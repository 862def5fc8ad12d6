//! A sync, until all its writes are answered.

use std::time::{Duration, Instant};

use k8s_openapi::{api::discovery::v1::EndpointSlice, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_controller::{Key, SyncFailure, SyncOutcome, WriteError};
use slice_core::{CompactSlice, Interner, WriteOutcome, WriteTicket};
use slice_reconciler::{Operation, Write};

use crate::{
    api::Answer,
    queue::{Due, Ended},
    slices::{Slices, read},
};

/// A sync of a key.
#[derive(Debug)]
pub(super) struct InFlight {
    key: Key,
    /// When the key was enqueued first since its last sync.
    pub(super) since: Instant,
    /// When the sync began.
    pub(super) started: Instant,
    /// When to sync the key again, even if nothing changes.
    pub(super) requeue_after: Option<Duration>,
    /// Whether the controller desired anything.
    pub(super) is_active: bool,
    pub(super) outcome: SyncOutcome,
    retry_after: Option<Duration>,
    /// Whether all failures are conflicts.
    only_conflicts: bool,
    /// Writes without an answer, by their place in the plan.
    pending: Vec<Option<Pending>>,
}

/// A write without an answer.
#[derive(Debug)]
enum Pending {
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
    pub(super) fn new(due: Due, now: Instant) -> Self {
        Self {
            key: due.key,
            since: due.since,
            started: now,
            requeue_after: None,
            is_active: false,
            outcome: SyncOutcome::default(),
            retry_after: None,
            only_conflicts: true,
            pending: Vec::new(),
        }
    }

    /// All writes are about to be sent.
    pub(super) fn begin(&mut self, writes: &[Write], slices: &mut Slices) {
        slices.begin(&self.key);
        let pending = writes
            .iter()
            .map(|write| Some(Pending::of(&write.operation, &self.key, slices)));
        self.pending = pending.collect();
    }

    /// A write was answered or skipped. `is_ours` and `key_of` determine which slices are ours, and their
    /// keys.
    pub(super) fn on_write_result(
        &mut self,
        write: usize,
        answer: Answer,
        slices: &mut Slices,
        interner: &mut Interner,
        is_ours: impl Fn(&EndpointSlice) -> bool,
        key_of: impl Fn(&ObjectMeta) -> Option<Key>,
    ) {
        let Some(pending) = self.pending.get_mut(write).and_then(Option::take) else {
            return;
        };
        match answer {
            Answer::Stored(slice) => {
                self.on_stored(pending, key_of(&slice.metadata), read(&slice, interner), slices);
            }
            Answer::Gone => self.on_deleted(&pending, slices),
            Answer::Changed(found) => {
                let found = found.filter(|slice| is_ours(slice));
                let found = found.map(|slice| (key_of(&slice.metadata), read(&slice, interner)));
                self.on_conflict(pending, found, slices);
            }
            Answer::NamespaceTerminating => {
                self.outcome.namespace_terminating = true;
                pending.abort(&self.key, slices);
            }
            Answer::Failed { error, retry_after } => {
                self.only_conflicts = false;
                self.retry_after = self.retry_after.max(retry_after);
                self.outcome
                    .failures
                    .push(pending.abort(&self.key, slices).into_failure(error));
            }
            // The failure of the write that it depends on is reported.
            Answer::Withheld => drop(pending.abort(&self.key, slices)),
        }
    }

    /// No more results will come.
    pub(super) fn end(&mut self, slices: &mut Slices) {
        for pending in std::mem::take(&mut self.pending).into_iter().flatten() {
            self.only_conflicts = false;
            let failure = pending.abort(&self.key, slices).into_failure(WriteError::Aborted);
            self.outcome.failures.push(failure);
        }
    }

    /// How the sync ended, for the queue.
    pub(super) fn ended(&self) -> Ended {
        if self.outcome.is_success() {
            Ended::Success
        } else if self.only_conflicts
            && self
                .outcome
                .failures
                .iter()
                .all(|failure| !matches!(failure, SyncFailure::Sync(_)))
        {
            Ended::Overtaken
        } else {
            Ended::Failure {
                retry_after: self.retry_after,
            }
        }
    }

    fn on_stored(&mut self, pending: Pending, key: Option<Key>, slice: CompactSlice, slices: &mut Slices) {
        let writes = &mut self.outcome.writes;
        let (count, ticket) = match pending {
            Pending::Create { ticket, .. } => (&mut writes.created, ticket),
            Pending::Update { ticket, .. } => (&mut writes.updated, ticket),
            // A finalizer holds it.
            Pending::Delete { .. } => {
                writes.deleted += 1;
                slices.show(key, slice);
                return;
            }
        };
        *count += 1;
        if slices.written(&self.key, ticket, slice) == WriteOutcome::Superseded {
            self.requeue_after = Some(Duration::ZERO);
        }
    }

    fn on_deleted(&mut self, pending: &Pending, slices: &mut Slices) {
        if let Pending::Delete { uid, .. } = pending {
            self.outcome.writes.deleted += 1;
            slices.deleted(uid);
        }
    }

    /// Another writer was faster: if the slice is still ours, it is taken into the cache as it is now.
    fn on_conflict(&mut self, pending: Pending, found: Option<(Option<Key>, CompactSlice)>, slices: &mut Slices) {
        let (name, uid) = pending.slice();
        let (name, uid) = (name.to_owned(), uid.map(ToOwned::to_owned));
        let failure = pending.abort(&self.key, slices).into_failure(WriteError::Conflict);
        self.outcome.failures.push(failure);
        match (found, uid) {
            // The name is in use, but not by a slice of this key.
            (Some((found_key, _)), None) if found_key.as_ref() != Some(&self.key) => {
                slices.note_taken(&self.key, name);
            }
            (Some((found_key, found)), _) => drop(slices.show(found_key, found)),
            (None, Some(uid)) => drop(slices.gone(&uid)),
            (None, None) => slices.note_taken(&self.key, name),
        }
    }
}

impl Pending {
    fn of(operation: &Operation, key: &Key, slices: &mut Slices) -> Self {
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

    /// The slice's name, and its uid if it exists.
    fn slice(&self) -> (&str, Option<&str>) {
        match self {
            Self::Create { name, .. } => (name, None),
            Self::Update { name, uid, .. } | Self::Delete { name, uid } => (name, Some(uid)),
        }
    }

    /// Expects no result of the write any more.
    fn abort(self, key: &Key, slices: &mut Slices) -> Aborted {
        match self {
            Self::Create { ticket, .. } => {
                slices.not_written(ticket);
                Aborted::Create
            }
            Self::Update { name, ticket, .. } => {
                slices.not_written(ticket);
                Aborted::Update(name)
            }
            Self::Delete { name, uid } => {
                slices.not_deleted(key, &uid);
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
