//! What is wrong, for a person.

use std::collections::BTreeMap;
use std::fmt;

/// An invariant of docs/spec/invariants.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Invariant {
    /// At rest, every pod is in exactly one endpoint, with its ports.
    I1,
    /// At rest, there is no other endpoint, and each says what the objects say.
    I2,
    /// Slices are small enough, of one address type, with unique port names.
    I3,
    /// What stays ready stays published and ready.
    I4,
    /// At rest, a Service without endpoints has one placeholder per address type.
    I5,
    /// Nothing is written without need.
    I6,
    /// Slices of others are left alone.
    I7,
}

impl fmt::Display for Invariant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

/// Something that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is broken.
    pub invariant: Invariant,
    /// By which object: kind, namespace and name.
    pub object: String,
    /// Since which resource version.
    pub revision: u64,
    /// What should be.
    pub expected: String,
    /// What is.
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

/// Collects what was looked at and what was wrong.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) checks: BTreeMap<Invariant, usize>,
    pub(crate) violations: Vec<Violation>,
}

impl Findings {
    /// Notes that something was looked at, and what is wrong with it unless it holds. `wrong` gives what was expected
    /// and what was found.
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
