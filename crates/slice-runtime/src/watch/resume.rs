//! The resume state of a reflector: the resourceVersion reached, and the backoff.

use std::{num::NonZeroU64, time::Duration};

use http::StatusCode;

use crate::client::RequestError;

const BACKOFF_BASE: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(10);

/// The state from which a reflector resumes after a list or watch ended.
#[derive(Debug)]
pub(super) struct ResumeState {
    /// The resourceVersion up to which all events were seen; none if a list is needed.
    resource_version: Option<Box<str>>,
    /// The highest numeric resourceVersion ever seen; others cannot be compared. Never 0, which means any version.
    highest_seen: Option<NonZeroU64>,
    failures: u32,
    /// Whether to try streaming lists: until the server rejects one.
    pub(super) streaming_list: bool,
}

impl Default for ResumeState {
    fn default() -> Self {
        Self {
            resource_version: None,
            highest_seen: None,
            failures: 0,
            streaming_list: true,
        }
    }
}

impl ResumeState {
    pub(super) fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    /// Advances to the resourceVersion of an event, a bookmark or a complete list. Ignores an empty one, of an object that
    /// lacks it.
    pub(super) fn advance(&mut self, version: &str) {
        if version.is_empty() {
            return;
        }
        self.resource_version = Some(version.into());
        self.highest_seen = self.highest_seen.max(version.parse().ok());
        self.failures = 0;
    }

    /// Makes the reflector relist.
    pub(super) fn forget_version(&mut self) {
        self.resource_version = None;
    }

    /// The highest resourceVersion ever seen; empty if there is none.
    pub(super) fn highest_seen(&self) -> String {
        self.highest_seen
            .map_or_else(String::new, |highest| highest.to_string())
    }

    /// Returns the highest resourceVersion ever seen if this one is older (I11).
    pub(super) fn older_than_seen(&self, version: &str) -> Option<u64> {
        let version: u64 = version.parse().ok()?;
        self.highest_seen
            .map(NonZeroU64::get)
            .filter(|highest| version < *highest)
    }

    /// Falls back to paged lists if the error means that the server does not support streaming lists. Returns whether it did.
    pub(super) fn fall_back_to_paging(&mut self, error: &RequestError) -> bool {
        let unsupported = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
        let rejected = self.streaming_list && error.api_error().is_some_and(|error| unsupported.contains(&error.code));
        self.streaming_list &= !rejected;
        rejected
    }

    pub(super) fn reset_backoff(&mut self) {
        self.failures = 0;
    }

    /// The delay after a failure: the server's `Retry-After`, or exponential backoff. `jitter` (0 to 1) spreads the latter, so
    /// that clients do not reconnect at the same time.
    pub(super) fn next_backoff(&mut self, retry_after: Option<Duration>, jitter: f64) -> Duration {
        let delay = BACKOFF_BASE
            .saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX))
            .min(BACKOFF_CAP);
        self.failures = self.failures.saturating_add(1);
        retry_after.unwrap_or_else(|| delay.mul_f64(0.5 + 0.5 * jitter))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

    use super::*;
    use crate::client::ApiError;

    fn api_error(code: i32) -> RequestError {
        RequestError::Api(ApiError::from_event(Status {
            code: Some(code),
            ..Status::default()
        }))
    }

    /// The highest observed resourceVersion is kept when the resume version is cleared (I11, F15).
    #[test]
    fn a_stale_list_is_detected_after_the_version_was_forgotten() {
        let mut resume = ResumeState::default();
        assert_eq!(resume.older_than_seen("1"), None);
        resume.advance("7");
        resume.forget_version();
        assert_eq!(resume.resource_version(), None);
        assert_eq!(
            ["6", "7", "10"].map(|version| resume.older_than_seen(version)),
            [Some(7), None, None]
        );
    }

    /// A watch from an empty resourceVersion starts with the current state and misses deletions before it.
    #[test]
    fn an_empty_version_is_ignored_and_an_opaque_one_is_used_as_it_is() {
        let mut resume = ResumeState::default();
        resume.advance("");
        assert_eq!((resume.resource_version(), resume.highest_seen().as_str()), (None, ""));
        resume.advance("7");
        resume.advance("");
        assert_eq!(
            (resume.resource_version(), resume.highest_seen().as_str()),
            (Some("7"), "7")
        );
        resume.advance("opaque");
        assert_eq!(
            (resume.resource_version(), resume.highest_seen().as_str()),
            (Some("opaque"), "7")
        );
    }

    #[test]
    fn a_server_without_streaming_lists_gets_paged_lists() {
        for (code, expected) in [(400, true), (422, true), (403, false), (500, false)] {
            let mut resume = ResumeState::default();
            assert_eq!(resume.fall_back_to_paging(&api_error(code)), expected, "{code}");
            assert_eq!(resume.streaming_list, !expected);
        }
        let mut paged = ResumeState::default();
        paged.fall_back_to_paging(&api_error(422));
        assert!(
            !paged.fall_back_to_paging(&api_error(422)),
            "a further rejection is an ordinary error"
        );
    }

    #[test]
    fn backoff_grows_up_to_the_cap_and_progress_resets_it() {
        let mut resume = ResumeState::default();
        let delays: Vec<_> = (0..40).map(|_| resume.next_backoff(None, 1.0)).collect();
        assert_eq!(
            (delays[0], delays[1], delays[39]),
            (BACKOFF_BASE, 2 * BACKOFF_BASE, BACKOFF_CAP)
        );
        resume.advance("1");
        assert_eq!(resume.next_backoff(None, 0.0), BACKOFF_BASE / 2);
        assert_eq!(
            resume.next_backoff(Some(Duration::from_secs(30)), 0.0),
            Duration::from_secs(30)
        );
    }
}
