//! The verdict on a history.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::config::Limits;
use crate::desired::endpoints_of;
use crate::history::{History, Verb};
use crate::object::Object;
use crate::state::State;
use crate::violation::{Findings, Invariant, Violation};
use crate::{final_state, timeline};

/// Checks I3, I4, I6 and I7 over a whole history.
#[must_use]
pub fn check_history(history: &History, limits: &Limits) -> Vec<Violation> {
    let mut findings = Findings::default();
    timeline::check(history, limits, &mut findings);
    findings.violations
}

/// Checks I1, I2 and I5 of what is there at the end of a history, which must be at rest.
#[must_use]
pub fn check_rest(history: &History, limits: &Limits) -> Vec<Violation> {
    let mut findings = Findings::default();
    final_state::check(history, limits, &mut findings);
    findings.violations
}

/// Checks everything, and counts.
#[must_use]
pub fn verify(history: &History, limits: &Limits) -> Report {
    let mut findings = Findings::default();
    timeline::check(history, limits, &mut findings);
    final_state::check(history, limits, &mut findings);
    let mut writes = BTreeMap::new();
    for write in timeline::writes(history, limits) {
        let verb = match write.event.verb() {
            Verb::Listed | Verb::Added => "creates",
            Verb::Modified => "updates",
            Verb::Deleted => "deletes",
        };
        *writes.entry(verb).or_default() += 1;
    }
    let of_slices = |event: &&crate::history::Event| {
        event.verb() != Verb::Listed && matches!(event.object(), Object::EndpointSlice(_))
    };
    let end = State::final_state(history);
    Report {
        revisions: history.events().filter(of_slices).count(),
        writes,
        slices: end.slices.len(),
        endpoints: end.slices.values().map(|slice| endpoints_of(slice).len()).sum(),
        checks: findings.checks,
        violations: findings.violations,
    }
}

/// Checks everything and panics when something is wrong. The message says what, and in which file of `directory` the
/// history is; for that, `env!("CARGO_TARGET_TMPDIR")` is a good place in a test.
///
/// # Panics
///
/// When the history breaks an invariant.
pub fn assert_clean(history: &History, limits: &Limits, directory: impl AsRef<Path>) -> Report {
    let report = verify(history, limits);
    assert!(
        report.violations.is_empty(),
        "{report}\n{}",
        match keep(history, directory.as_ref()) {
            Ok(path) => format!("the history is in {}", path.display()),
            Err(error) => format!(
                "the history cannot be kept in {}: {error}",
                directory.as_ref().display()
            ),
        }
    );
    report
}

/// Writes a history to a file of its own.
fn keep(history: &History, directory: &Path) -> io::Result<PathBuf> {
    let file = tempfile::Builder::new()
        .prefix("history-")
        .suffix(".jsonl")
        .tempfile_in(directory)?;
    let (file, path): (File, PathBuf) = file.keep()?;
    history.write(BufWriter::new(file))?;
    Ok(path)
}

/// What was looked at, and what was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Revisions of slices.
    pub revisions: usize,
    /// Writes of the controllers, as `creates`, `updates` and `deletes`.
    pub writes: BTreeMap<&'static str, usize>,
    /// Slices at the end.
    pub slices: usize,
    /// Endpoints in them.
    pub endpoints: usize,
    /// How often each invariant was looked at.
    pub checks: BTreeMap<Invariant, usize>,
    /// What is wrong.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes: Vec<_> = self
            .writes
            .iter()
            .map(|(verb, count)| format!("{count} {verb}"))
            .collect();
        let writes = if writes.is_empty() {
            "no writes".to_owned()
        } else {
            writes.join(", ")
        };
        let checks: Vec<_> = self.checks.iter().map(|(id, count)| format!("{id} {count}")).collect();
        writeln!(out, "{} revisions of slices: {writes}", self.revisions)?;
        writeln!(
            out,
            "at the end {} slices with {} endpoints",
            self.slices, self.endpoints
        )?;
        write!(out, "checked: {}; ", checks.join(", "))?;
        if self.violations.is_empty() {
            return write!(out, "nothing is wrong");
        }
        let broken: BTreeSet<_> = self
            .violations
            .iter()
            .map(|violation| violation.invariant.to_string())
            .collect();
        let broken: Vec<_> = broken.into_iter().collect();
        write!(out, "broken: {}", broken.join(", "))?;
        self.violations
            .iter()
            .try_for_each(|violation| write!(out, "\n  {violation}"))
    }
}
