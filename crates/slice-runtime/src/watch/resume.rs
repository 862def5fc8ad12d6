//! The resume state of a reflector: the resourceVersion reached, and the backoff.

use std::{
    num::NonZeroU64,
    time::{Duration, Instant},
};

use http::StatusCode;

use crate::{client::RequestError, failure_log::FailureLog};

const BACKOFF_BASE: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(10);
/// Failures in a row without a response from which on the next list is paged.
const FAILURES_BEFORE_PAGING: u32 = 3;

/// The state from which a reflector resumes after a list or watch ended.
#[derive(Debug)]
pub(super) struct ResumeState {
    /// The resourceVersion up to which all events were seen; none if a list is needed.
    resource_version: Option<Box<str>>,
    /// The highest numeric resourceVersion ever seen; others cannot be compared. Never 0, which means any version.
    highest_seen: Option<NonZeroU64>,
    failures: u32,
    log: FailureLog,
    /// Whether the server supports streaming lists, as far as known.
    supports_streaming: bool,
    /// Whether lists are paged until one is complete, because a streaming list failed.
    pages_next: bool,
}

impl Default for ResumeState {
    fn default() -> Self {
        Self {
            resource_version: None,
            highest_seen: None,
            failures: 0,
            log: FailureLog::default(),
            supports_streaming: true,
            pages_next: false,
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
        self.reset_backoff();
        self.pages_next = false;
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

    /// Whether the next list is a streaming list.
    pub(super) fn uses_streaming_list(&self) -> bool {
        self.supports_streaming && !self.pages_next
    }

    /// Falls back to paged lists after a streaming list failed: for good if the server does not support them, else until a list
    /// is complete. Too many requests, an expired token and the first failures of a connection are no reason to stop streaming.
    /// Returns whether to list at once; without that, the reflector backs off first.
    pub(super) fn fall_back_to_paging(&mut self, error: &RequestError) -> bool {
        if !self.uses_streaming_list() {
            return false;
        }
        let Some(error) = error.api_error() else {
            self.pages_next = self.failures >= FAILURES_BEFORE_PAGING;
            return false;
        };
        match error.code {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => self.supports_streaming = false,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED => return false,
            _ => self.pages_next = true,
        }
        error.retry_after.is_none()
    }

    /// Falls back to paged lists after a streaming list ended before it was complete.
    pub(super) fn page_next_list(&mut self) {
        self.pages_next = true;
    }

    pub(super) fn reset_backoff(&mut self) {
        self.failures = 0;
        self.log.reset();
    }

    /// Whether to log a failure, as the number of failures before it that were not logged.
    pub(super) fn log_failure(&mut self, error: &str, now: Instant) -> Option<u32> {
        self.log.record(error, now)
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

    /// A server may answer every streaming list with an error although it lists and watches (F10).
    #[test]
    fn failed_streaming_list_falls_back_to_pages_unless_the_error_is_about_something_else() {
        for (code, pages, for_good) in [
            (400, true, true),
            (422, true, true),
            (403, true, false),
            (500, true, false),
            (503, true, false),
            (401, false, false),
            (429, false, false),
        ] {
            let mut resume = ResumeState::default();
            assert_eq!(resume.fall_back_to_paging(&api_error(code)), pages, "{code}");
            assert_eq!(resume.uses_streaming_list(), !pages, "{code}");
            assert!(
                !pages || !resume.fall_back_to_paging(&api_error(code)),
                "{code}: an error of a paged list is an ordinary error"
            );
            resume.advance("1");
            assert_eq!(resume.uses_streaming_list(), !for_good, "{code}: after a complete list");
        }
    }

    #[test]
    fn streaming_lists_without_a_response_fall_back_to_pages_after_some_failures() {
        let mut resume = ResumeState::default();
        let lost = || RequestError::transport(std::io::Error::other("connection reset"));
        for _ in 0..FAILURES_BEFORE_PAGING {
            assert!(!resume.fall_back_to_paging(&lost()));
            assert!(resume.uses_streaming_list());
            resume.next_backoff(None, 0.0);
        }
        assert!(!resume.fall_back_to_paging(&lost()), "backs off first");
        assert!(!resume.uses_streaming_list());
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
