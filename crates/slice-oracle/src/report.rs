//! The result of all checks of a history.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::config::CheckConfig;
use crate::desired::endpoints_of;
use crate::history::{History, Verb};
use crate::object::Object;
use crate::state::State;
use crate::violation::{Findings, Invariant, Violation};
use crate::{final_state, timeline};

/// Checks every revision of a history (I3, I4, I6, I7).
#[must_use]
pub fn check_history(history: &History, config: &CheckConfig) -> Vec<Violation> {
    let mut findings = Findings::default();
    timeline::check(history, config, &mut findings);
    findings.violations
}

/// Checks the state at the end of a history, which must be quiescent (I1, I2, I5).
#[must_use]
pub fn check_final_state(history: &History, config: &CheckConfig) -> Vec<Violation> {
    let mut findings = Findings::default();
    final_state::check(history, config, &mut findings);
    findings.violations
}

/// Runs all checks and returns a report with counts.
#[must_use]
pub fn verify(history: &History, config: &CheckConfig) -> Report {
    let mut findings = Findings::default();
    timeline::check(history, config, &mut findings);
    final_state::check(history, config, &mut findings);
    let mut writes = BTreeMap::new();
    for write in timeline::writes(history, config) {
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

/// Runs all checks and panics on a violation. The message lists the violations and names the file in `directory` with
/// the history; tests pass `env!("CARGO_TARGET_TMPDIR")`.
///
/// # Panics
///
/// If the history violates an invariant.
pub fn assert_clean(history: &History, config: &CheckConfig, directory: impl AsRef<Path>) -> Report {
    let report = verify(history, config);
    assert!(
        report.violations.is_empty(),
        "{report}\n{}",
        match save(history, directory.as_ref()) {
            Ok(path) => format!("the history is in {}", path.display()),
            Err(error) => format!("cannot write the history to {}: {error}", directory.as_ref().display()),
        }
    );
    report
}

/// Writes a history to a new file.
fn save(history: &History, directory: &Path) -> io::Result<PathBuf> {
    let file = tempfile::Builder::new()
        .prefix("history-")
        .suffix(".jsonl")
        .tempfile_in(directory)?;
    let (file, path): (File, PathBuf) = file.keep()?;
    history.write(BufWriter::new(file))?;
    Ok(path)
}

/// Counts of a history, its checks and its violations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Revisions of slices.
    pub revisions: usize,
    /// Writes of the checked controllers, as `creates`, `updates` and `deletes`.
    pub writes: BTreeMap<&'static str, usize>,
    /// Slices at the end.
    pub slices: usize,
    /// Endpoints in them.
    pub endpoints: usize,
    /// Number of checks of each invariant.
    pub checks: BTreeMap<Invariant, usize>,
    /// The violations.
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
            return write!(out, "no violations");
        }
        let violated: BTreeSet<_> = self
            .violations
            .iter()
            .map(|violation| violation.invariant.to_string())
            .collect();
        let violated: Vec<_> = violated.into_iter().collect();
        write!(out, "violated: {}", violated.join(", "))?;
        self.violations
            .iter()
            .try_for_each(|violation| write!(out, "\n  {violation}"))
    }
}
