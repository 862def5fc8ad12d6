//! Violations of invariants.

use std::collections::BTreeMap;
use std::fmt;

/// An invariant of docs/spec/invariants.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Invariant {
    /// When quiescent, every selected pod is in exactly one endpoint, with its ports.
    I1,
    /// When quiescent, there are no other endpoints, and every field matches the inputs.
    I2,
    /// A slice respects the endpoint limit, has one address type and unique port names.
    I3,
    /// An endpoint that stays ready stays published and ready.
    I4,
    /// When quiescent, a Service without endpoints has one placeholder slice per address type.
    I5,
    /// There are no spurious writes.
    I6,
    /// Slices of other managers are not modified.
    I7,
}

impl fmt::Display for Invariant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The violated invariant.
    pub invariant: Invariant,
    /// The object: kind, namespace and name.
    pub object: String,
    /// The resource version at which it was found.
    pub revision: u64,
    /// The expected state.
    pub expected: String,
    /// The actual state.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            invariant,
            object,
            revision,
            expected,
            found,
        } = self;
        write!(
            out,
            "{invariant} {object} at {revision}: expected {expected}; found {found}"
        )
    }
}

/// Collects the number of checks and the violations.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) checks: BTreeMap<Invariant, usize>,
    pub(crate) violations: Vec<Violation>,
}

impl Findings {
    /// Counts a check, and records a violation unless `holds`. `wrong` returns the expected and the actual state.
    pub(crate) fn check(
        &mut self,
        invariant: Invariant,
        (object, revision): (impl fmt::Display, u64),
        holds: bool,
        wrong: impl FnOnce() -> (String, String),
    ) {
        *self.checks.entry(invariant).or_default() += 1;
        if !holds {
            let (expected, found) = wrong();
            self.violations.push(Violation {
                invariant,
                object: object.to_string(),
                revision,
                expected,
                found,
            });
        }
    }
}
