//! The failing keys: their last errors, and what of them is logged.

use std::{collections::HashMap, time::Instant};

use slice_controller::{ErrorChain, Key, SyncFailure, SyncOutcome};

use crate::{escape::Escaped, failure_log::FailureLog};

/// Failures of one sync that a log line names. A Service of 50,000 pods can have 500.
const NAMED_FAILURES: usize = 3;

/// The keys whose last sync failed.
#[derive(Debug, Default)]
pub(super) struct FailingKeys(HashMap<Key, FailureLog>);

impl FailingKeys {
    /// Records the outcome of a sync, and logs it in the span of the sync unless the same failure was logged often enough.
    pub(super) fn record(&mut self, key: &Key, outcome: &SyncOutcome, now: Instant) {
        if outcome.is_success() {
            self.0.remove(key);
            return;
        }
        let error = summary(&outcome.failures);
        let log = self.0.entry(key.clone()).or_default();
        if let Some(not_logged) = log.record(&error, now) {
            let not_logged = (not_logged > 0).then_some(not_logged);
            if outcome.failures.iter().all(SyncFailure::is_conflict) {
                tracing::info!(%error, not_logged, "conflict; the key is requeued");
            } else {
                tracing::warn!(%error, not_logged, "sync failed; the key is requeued");
            }
        }
    }

    /// The last error of a key, if its last sync failed.
    pub(super) fn last_error(&self, key: &Key) -> Option<&str> {
        self.0.get(key).map(FailureLog::last_error)
    }
}

/// The first failures in one line, and the number of the others.
fn summary(failures: &[SyncFailure]) -> String {
    let named = failures.iter().take(NAMED_FAILURES);
    let mut parts: Vec<String> = named.map(|failure| Escaped(ErrorChain(failure)).to_string()).collect();
    match failures.len().saturating_sub(NAMED_FAILURES) {
        0 => {}
        more => parts.push(format!("and {more} more")),
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use slice_controller::WriteError;

    use super::*;

    fn outcome(slices: usize) -> SyncOutcome {
        let failure = |slice| SyncFailure::Update {
            slice: format!("web-{slice}"),
            error: WriteError::Conflict,
        };
        SyncOutcome {
            failures: (0..slices).map(failure).collect(),
            ..SyncOutcome::default()
        }
    }

    #[test]
    fn three_failures_of_a_sync_are_named_and_the_others_counted() {
        let line = |slice: usize| {
            format!("failed to update slice web-{slice}: conflict: another client changed the slice first")
        };
        assert_eq!(summary(&outcome(1).failures), line(0));
        let expected = format!("{}; {}; {}; and 497 more", line(0), line(1), line(2));
        assert_eq!(summary(&outcome(500).failures), expected);
        assert!(!summary(&outcome(3).failures).contains("more"));
    }

    /// Memory is bounded by the failing keys.
    #[test]
    fn the_last_error_is_kept_until_a_sync_succeeds() {
        let (mut failing, key, now) = (FailingKeys::default(), Key::new("ns", "a"), Instant::now());
        failing.record(&key, &outcome(1), now);
        assert!(failing.last_error(&key).is_some_and(|error| error.contains("web-0")));
        failing.record(&key, &outcome(0), now);
        assert_eq!(failing.last_error(&key), None);
        assert!(failing.0.is_empty());
    }
}
