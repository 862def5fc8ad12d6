//! Why a sync is retried, as the label of a metric.

use slice_controller::{SyncFailure, SyncOutcome, WriteError};

/// The reason for which a failed sync is retried, by its first failure that is not a conflict; `None` after a success.
pub(super) fn retry_reason(outcome: &SyncOutcome) -> Option<&'static str> {
    if outcome.is_success() {
        return None;
    }
    let mut reasons = outcome.failures.iter().map(reason);
    Some(reasons.find(|reason| *reason != CONFLICT).unwrap_or(CONFLICT))
}

const CONFLICT: &str = "conflict";

fn reason(failure: &SyncFailure) -> &'static str {
    let error = match failure {
        SyncFailure::Sync(_) => return "sync",
        SyncFailure::Create(error) | SyncFailure::Update { error, .. } | SyncFailure::Delete { error, .. } => error,
    };
    match error {
        WriteError::Conflict => CONFLICT,
        WriteError::Api { code: 429, .. } => "throttled",
        WriteError::Api { .. } => "rejected",
        WriteError::Timeout(_) | WriteError::Transport(_) | WriteError::LeaseLost | WriteError::Aborted => {
            "no_response"
        }
        WriteError::Request(_) => "invalid_request",
        WriteError::Response(_) => "invalid_response",
        WriteError::Relabelled { .. } => "relabelled",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use slice_controller::SyncError;

    use super::*;

    fn api(code: u16) -> SyncFailure {
        SyncFailure::Create(WriteError::Api {
            code,
            reason: String::new(),
            message: String::new(),
        })
    }

    fn conflict() -> SyncFailure {
        SyncFailure::Create(WriteError::Conflict)
    }

    #[test]
    fn the_first_failure_that_is_no_conflict_is_the_reason() {
        for (failures, expected) in [
            (vec![], None),
            (vec![conflict()], Some("conflict")),
            (vec![conflict(), api(403), api(429)], Some("rejected")),
            (vec![api(429)], Some("throttled")),
            (
                vec![SyncFailure::Create(WriteError::Timeout(Duration::ZERO))],
                Some("no_response"),
            ),
            (vec![SyncFailure::Sync(SyncError::other("no"))], Some("sync")),
        ] {
            let outcome = SyncOutcome {
                failures,
                ..SyncOutcome::default()
            };
            assert_eq!(retry_reason(&outcome), expected);
        }
    }
}
