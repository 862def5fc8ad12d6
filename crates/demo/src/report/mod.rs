//! Verifies the recorded history of a demo against the invariants.

use anyhow::{Context as _, Result, bail, ensure};
use slice_oracle::{self, CheckConfig, History, Invariant, Object, Verb};

use super::stage::list;

/// Invariants that the acts must exercise.
const EXERCISED: [Invariant; 5] = [
    Invariant::I1,
    Invariant::I2,
    Invariant::I3,
    Invariant::I4,
    Invariant::I5,
];

/// Checks a history against the invariants. Returns a summary of the check.
pub(super) fn verify(history: &History) -> Result<String> {
    let report = slice_oracle::verify(history, &CheckConfig::default());
    let violations = &report.violations;
    if !violations.is_empty() {
        bail!(
            "the slices broke invariants, {} times:\n{}",
            violations.len(),
            list(violations)
        );
    }
    for invariant in EXERCISED {
        ensure!(
            report.checks.contains_key(&invariant),
            "no event of the demo exercises {invariant}, so that it is not verified"
        );
    }
    let last = report.checks.keys().last().context("nothing was checked")?;
    let slices = history.events().filter(|event| {
        let is_new = matches!(event.verb(), Verb::Listed | Verb::Added);
        is_new && matches!(event.object(), Object::EndpointSlice(_))
    });
    Ok(format!(
        "verified I1–{last} over {} revisions of {} slices",
        report.revisions,
        slices.count()
    ))
}

#[cfg(test)]
mod tests;
