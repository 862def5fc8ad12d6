//! The plans in execution of a replica: its requests in flight.

use std::time::Instant;

use slice_controller::Key;
use slice_reconciler::{Operation, Write};
use slice_runtime::simulation::{Plan, Response};

use crate::{object::Name, server::Request};

/// A plan in execution.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) writes: Vec<Write>,
    pub(crate) states: Vec<WriteState>,
    /// Whether the writes are dry runs.
    pub(crate) probe: bool,
    /// The epoch in which it was planned.
    pub(crate) epoch: u32,
    /// The term in which it was planned.
    pub(crate) term: Option<u64>,
    /// Whether the engine must requeue the key.
    pub(crate) failed: bool,
    /// Whether no further write is sent.
    pub(crate) ended: bool,
}

#[derive(Debug)]
pub(crate) enum WriteState {
    Unsent,
    Sent {
        /// None if the live slice is read first.
        response: Option<Response>,
        /// When the response arrives, at the earliest.
        due: Instant,
    },
    Done {
        success: bool,
    },
}

impl Job {
    pub(crate) fn new(plan: Plan, epoch: u32, term: Option<u64>) -> Self {
        let states = plan.writes.iter().map(|_| WriteState::Unsent).collect();
        Self {
            key: plan.key,
            writes: plan.writes,
            states,
            probe: plan.probe,
            epoch,
            term,
            failed: false,
            ended: false,
        }
    }

    pub(crate) fn operation(&self, write: usize) -> &Operation {
        &self.writes[write].operation
    }

    /// A write as a request.
    pub(crate) fn request(&self, write: usize) -> Request {
        let operation = self.operation(write).clone();
        Request {
            slice: Name::new(&self.key.namespace, slice_name(&operation)),
            operation,
        }
    }

    /// Whether all dependencies of a write have a result.
    pub(super) fn is_unblocked(&self, write: usize) -> bool {
        let mut dependencies = self.writes[write].depends_on.iter();
        dependencies.all(|index| matches!(self.states[*index], WriteState::Done { .. }))
    }

    /// Whether a write is not sent: a dependency failed, or the plan ended.
    pub(crate) fn is_skipped(&self, write: usize) -> bool {
        let mut dependencies = self.writes[write].depends_on.iter();
        self.ended || dependencies.any(|index| matches!(self.states[*index], WriteState::Done { success: false }))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.states.iter().all(|state| matches!(state, WriteState::Done { .. }))
    }
}

/// The name of the slice that is written.
fn slice_name(operation: &Operation) -> &str {
    match operation {
        Operation::Create(slice) | Operation::Update(slice) => slice.metadata.name.as_deref().unwrap_or_default(),
        Operation::Delete(deletion) => &deletion.name,
    }
}
