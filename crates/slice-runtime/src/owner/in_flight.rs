//! A key that is being looked at, until all its writes are answered.

use std::time::{Duration, Instant};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Interner, Key, Outcome, SyncFailure, WriteError};
use slice_core::{Slice, WriteAnswer, WriteTicket};
use slice_reconciler::{Operation, Write};

use crate::{
    api::Answer,
    queue::{Due, Ended},
    slices::{Slices, read},
};

/// A key that is being looked at.
#[derive(Debug)]
pub(super) struct InFlight {
    key: Key,
    /// When the change began that this look is about.
    pub(super) since: Instant,
    /// When the look began.
    pub(super) started: Instant,
    /// When to look again, even if nothing happens.
    pub(super) again: Option<Duration>,
    pub(super) outcome: Outcome,
    retry_after: Option<Duration>,
    /// Whether all that failed, failed because somebody else was faster.
    only_overtaken: bool,
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
            again: None,
            outcome: Outcome::default(),
            retry_after: None,
            only_overtaken: true,
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

    /// One write was answered, or withheld.
    pub(super) fn answered(
        &mut self,
        write: usize,
        answer: Answer,
        slices: &mut Slices,
        interner: &mut Interner,
        is_ours: impl Fn(&EndpointSlice) -> bool,
    ) {
        let Some(pending) = self.pending.get_mut(write).and_then(Option::take) else {
            return;
        };
        match answer {
            Answer::Stored(slice) => self.stored(pending, read(&slice, interner), slices),
            Answer::Gone => self.gone(&pending, slices),
            Answer::Changed(found) => {
                let found = found.filter(|slice| is_ours(slice));
                self.overtaken(pending, found.map(|slice| read(&slice, interner)), slices);
            }
            Answer::NamespaceTerminating => {
                self.outcome.namespace_terminating = true;
                pending.give_up(&self.key, slices);
            }
            Answer::Failed { error, retry_after } => {
                self.only_overtaken = false;
                self.retry_after = self.retry_after.max(retry_after);
                self.outcome
                    .failures
                    .push(pending.give_up(&self.key, slices).because(error));
            }
            // The failure that it was withheld for is told.
            Answer::Withheld => drop(pending.give_up(&self.key, slices)),
        }
    }

    /// No more answers will come.
    pub(super) fn end(&mut self, slices: &mut Slices) {
        for pending in std::mem::take(&mut self.pending).into_iter().flatten() {
            self.only_overtaken = false;
            let failure = pending.give_up(&self.key, slices).because(WriteError::Aborted);
            self.outcome.failures.push(failure);
        }
    }

    /// How the look ended.
    pub(super) fn ended(&self) -> Ended {
        if self.outcome.is_success() {
            Ended::Success
        } else if self.only_overtaken
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

    fn stored(&mut self, pending: Pending, slice: Slice, slices: &mut Slices) {
        let writes = &mut self.outcome.writes;
        let (count, ticket) = match pending {
            Pending::Create { ticket, .. } => (&mut writes.created, ticket),
            Pending::Update { ticket, .. } => (&mut writes.updated, ticket),
            // A finalizer holds it.
            Pending::Delete { .. } => {
                writes.deleted += 1;
                slices.show(slice);
                return;
            }
        };
        *count += 1;
        if slices.written(&self.key, ticket, slice) == WriteAnswer::Overtaken {
            self.again = Some(Duration::ZERO);
        }
    }

    fn gone(&mut self, pending: &Pending, slices: &mut Slices) {
        if let Pending::Delete { uid, .. } = pending {
            self.outcome.writes.deleted += 1;
            slices.deleted(uid);
        }
    }

    /// Somebody else was faster: what they left behind is taken in, and the key is looked at again.
    fn overtaken(&mut self, pending: Pending, found: Option<Slice>, slices: &mut Slices) {
        let (name, uid) = pending.slice();
        let (name, uid) = (name.to_owned(), uid.map(ToOwned::to_owned));
        let failure = pending.give_up(&self.key, slices).because(WriteError::Conflict);
        self.outcome.failures.push(failure);
        match (found, uid) {
            // The name is in use, but not by a slice of this key.
            (Some(found), None) if Key::of_slice(&found.metadata).as_ref() != Some(&self.key) => {
                slices.note_taken(&self.key, name);
            }
            (Some(found), _) => drop(slices.show(found)),
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

    /// Expects nothing more of the write.
    fn give_up(self, key: &Key, slices: &mut Slices) -> GivenUp {
        match self {
            Self::Create { ticket, .. } => {
                slices.not_written(ticket);
                GivenUp::Create
            }
            Self::Update { name, ticket, .. } => {
                slices.not_written(ticket);
                GivenUp::Update(name)
            }
            Self::Delete { name, uid } => {
                slices.not_deleted(key, &uid);
                GivenUp::Delete(name)
            }
        }
    }
}

/// A write that will not have the answer that was hoped for.
enum GivenUp {
    Create,
    Update(String),
    Delete(String),
}

impl GivenUp {
    fn because(self, error: WriteError) -> SyncFailure {
        match self {
            Self::Create => SyncFailure::Create(error),
            Self::Update(slice) => SyncFailure::Update { slice, error },
            Self::Delete(slice) => SyncFailure::Delete { slice, error },
        }
    }
}
