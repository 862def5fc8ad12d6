//! What a controller is asked, and what it answers.

use std::time::Duration;

use jiff::Timestamp;
use slice_core::Slice;
use slice_reconciler::Plan;

use crate::{Event, Identity, Interner, Key, Measurement, MetricSpec, Source, Wakes};

/// A controller: a state machine that is told what changes, and says what to write.
///
/// The slices themselves are not among what it watches: they are kept by who runs it, with writes that the watch has not
/// shown yet laid over them, and handed to [`sync`](Self::sync).
pub trait Controller {
    /// The objects that it watches, slim.
    type Input;

    /// What it watches.
    fn sources(&self) -> Vec<Source<Self::Input>>;

    /// Where strings are shared. Its slices are read with it, so that they hold the same strings as what it observed with it:
    /// kept once, and compared without a look at them.
    fn interner(&mut self) -> &mut Interner;

    /// Takes in a change, and wakes the keys that it concerns. An object that says nothing new concerns nobody: after a
    /// lost connection everything may be told again.
    fn observe(&mut self, change: Change<Self::Input>, wakes: &mut Wakes);

    /// Is told that no more changes wait to be observed, before keys are looked at: for what is better done once for many
    /// changes than for each.
    fn settle(&mut self, _wakes: &mut Wakes) {}

    /// The objects of one [`Source`] that it holds, by namespace and name: those that a new list does not contain are gone.
    fn held(&self, kind: &'static str) -> Vec<Identity>;

    /// All keys there are, for a look at each of them from time to time.
    fn keys(&self) -> Vec<Key>;

    /// Decides about one key.
    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<Sync, String>;

    /// Is told what became of the last sync of a key, before the next one.
    fn finished(&mut self, key: &Key, outcome: &Outcome);

    /// What people are told about a key that keeps failing.
    fn failure_event(&self, key: &Key, failures: &[Failure]) -> Option<Event>;

    /// The metrics that it records.
    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &[]
    }

    /// Takes the measurements since the last call; called after each [`sync`](Self::sync) and
    /// [`finished`](Self::finished).
    fn take_measurements(&mut self) -> Vec<Measurement> {
        Vec::new()
    }
}

/// What happened to a watched object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<I> {
    /// It is there, or is different now.
    Applied(I),
    /// It is gone.
    Deleted {
        /// The [`Source`] that it was seen in.
        kind: &'static str,
        /// Which one.
        identity: Identity,
    },
}

/// What a decision is made with, besides what was observed.
#[derive(Clone, Copy, Debug)]
pub struct SyncContext<'a> {
    /// The slices of the key, in the order of their names; those that are being deleted included.
    pub existing: &'a [Slice],
    /// Names in the namespace that are known to belong to others.
    pub taken: &'a [String],
    /// The time.
    pub now: Timestamp,
}

/// What was decided about a key.
#[derive(Clone, Debug, Default)]
pub struct Sync {
    /// What to write.
    pub plan: Plan,
    /// What to tell people, whatever becomes of the plan.
    pub events: Vec<Event>,
    /// When to look again, even if nothing happens.
    pub again: Option<Duration>,
}

/// What became of a sync.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Writes that succeeded.
    pub writes: Writes,
    /// What went wrong; empty after success.
    pub failures: Vec<Failure>,
    /// Whether the namespace is going away: creates were refused for that, and this is not a failure (R107).
    pub namespace_terminating: bool,
    /// How long it took, from the decision to the last answer.
    pub took: Duration,
}

impl Outcome {
    /// Whether everything that was planned is done, as far as it can be.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Writes, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Slices created.
    pub created: usize,
    /// Slices updated.
    pub updated: usize,
    /// Slices deleted.
    pub deleted: usize,
}

impl Writes {
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

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nothing could be decided.
    #[error("{0}")]
    Sync(String),
    /// A slice could not be created.
    #[error("failed to create a slice: {0}")]
    Create(String),
    /// A slice could not be updated.
    #[error("failed to update slice {slice}: {error}")]
    Update {
        /// Its name.
        slice: String,
        /// Why.
        error: String,
    },
    /// A slice could not be deleted.
    #[error("failed to delete slice {slice}: {error}")]
    Delete {
        /// Its name.
        slice: String,
        /// Why.
        error: String,
    },
}
