//! The checks of a play (docs/spec/invariants.md).

pub(crate) mod final_state;
pub(crate) mod gap;
pub(crate) mod gate;
pub(crate) mod leadership;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod rewrites;
pub(crate) mod waiting;

use std::fmt;

/// A violated invariant. The first one ends a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The id of the invariant or fault.
    pub(crate) invariant: &'static str,
    /// What is wrong.
    pub(crate) finding: String,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, finding: impl Into<String>) -> Self {
        Self {
            invariant,
            finding: finding.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.finding)
    }
}

/// Fails unless `holds`.
pub(crate) fn ensure(holds: bool, invariant: &'static str, finding: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(Violation::new(invariant, finding()))
    }
}

/// The checks with a state.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) gap: gap::NoGap,
    pub(crate) rewrites: rewrites::RewriteBound,
    pub(crate) waiting: waiting::WaitBound,
}
