//! The resume state of a reflector: the resourceVersion reached, and the backoff.

use std::{
    num::NonZeroU64,
    time::{Duration, Instant},
};

use http::StatusCode;
use slice_controller::ObjectRef;

use super::epoch::{NewestObject, Seen, is_below};
use crate::{
    client::{ApiError, RequestError},
    failure_log::FailureLog,
};

const BACKOFF_BASE: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(10);
/// Failures in a row without a response from which on the next list is paged.
const FAILURES_BEFORE_PAGING: u32 = 3;
/// Rejections in a row of watches from one resourceVersion after which the reflector relists.
const REJECTIONS_BEFORE_RELIST: u32 = 5;
/// Watches in a row without a frame that indicate a resourceVersion which the server has not reached.
const SILENT_WATCHES: u32 = 3;

/// Why a resource is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListReason {
    /// It was never listed.
    Initial,
    /// The resourceVersion of the watch was too old (410 Gone).
    Expired,
    /// Watches from the resourceVersion kept failing.
    Failed,
    /// The API server lacked the resource.
    Absent,
    /// resourceVersions went back.
    Epoch,
    /// A relist lacked so many objects that a second one has to confirm it.
    Confirmation,
}

impl ListReason {
    /// The value of the label of metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::Absent => "absent",
            Self::Epoch => "epoch",
            Self::Confirmation => "confirmation",
        }
    }
}

/// The state from which a reflector resumes after a list or watch ended.
#[derive(Debug)]
pub(super) struct ResumeState {
    /// The resourceVersion up to which all events were seen; none if a list is needed.
    resource_version: Option<Box<str>>,
    /// What was seen in this epoch.
    seen: Seen,
    /// Why the next list is needed.
    list_reason: ListReason,
    failures: u32,
    log: FailureLog,
    /// Rejections in a row of watches from `resource_version`.
    rejections: u32,
    /// Watches in a row that ended without a frame.
    silent_watches: u32,
    /// Whether the last watch ended before its time.
    ended_early: bool,
    /// Whether the server supports streaming lists, as far as known.
    supports_streaming: bool,
    /// Whether lists are paged until one is complete, because a streaming list failed.
    pages_next: bool,
}

impl Default for ResumeState {
    fn default() -> Self {
        Self {
            resource_version: None,
            seen: Seen::default(),
            list_reason: ListReason::Initial,
            failures: 0,
            log: FailureLog::default(),
            rejections: 0,
            silent_watches: 0,
            ended_early: false,
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
    /// lacks it. Returns whether it advanced.
    pub(super) fn advance(&mut self, version: &str) -> bool {
        if version.is_empty() {
            return false;
        }
        self.resource_version = Some(version.into());
        self.seen.highest = self.seen.highest.max(version.parse().ok());
        self.reset_backoff();
        self.pages_next = false;
        true
    }

    /// Makes the reflector relist. A resource that was never listed keeps that reason.
    pub(super) fn relist(&mut self, reason: ListReason) {
        if self.resource_version.take().is_some() || self.list_reason != ListReason::Initial {
            self.list_reason = reason;
        }
        self.rejections = 0;
        self.silent_watches = 0;
    }

    pub(super) fn list_reason(&self) -> ListReason {
        self.list_reason
    }

    /// resourceVersions went back: forgets those that were seen, and makes the reflector relist.
    pub(super) fn start_epoch(&mut self) {
        self.relist(ListReason::Epoch);
        self.seen = Seen::default();
        self.pages_next = false;
    }

    pub(super) fn highest(&self) -> Option<NonZeroU64> {
        self.seen.highest
    }

    pub(super) fn newest(&self) -> Option<&NewestObject> {
        self.seen.newest.as_ref()
    }

    /// An object was created, updated or deleted.
    pub(super) fn see_object(&mut self, object: &ObjectRef, deleted: bool) {
        NewestObject::update(&mut self.seen.newest, object, deleted);
    }

    /// A list is complete. Deletions that it shows have no version, so that only its own objects can be the newest.
    pub(super) fn see_list(&mut self, newest: Option<NewestObject>) {
        self.seen.newest = newest;
    }

    /// The highest resourceVersion seen in this epoch.
    pub(super) fn highest_seen(&self) -> Option<u64> {
        self.seen.highest.map(NonZeroU64::get)
    }

    /// Returns the highest resourceVersion seen in this epoch if this one is older (I11).
    pub(super) fn older_than_seen(&self, version: &str) -> Option<u64> {
        self.highest_seen().filter(|highest| is_below(version, *highest))
    }

    /// Whether the next list is a streaming list. Not after anything was seen: the version of a streaming list is known only
    /// at its end, that of a paged list before the first of its objects is applied (I11).
    pub(super) fn uses_streaming_list(&self) -> bool {
        self.supports_streaming && !self.pages_next && self.seen.highest.is_none()
    }

    /// Counts an error of a watch. Makes the reflector relist if the server keeps rejecting watches from this resourceVersion
    /// for reasons that are not about credentials or load. Returns whether it does.
    pub(super) fn reject(&mut self, error: Option<&ApiError>) -> bool {
        let is_about_version = error.is_none_or(|error| {
            let other_reasons = [
                StatusCode::UNAUTHORIZED,
                StatusCode::FORBIDDEN,
                StatusCode::TOO_MANY_REQUESTS,
            ];
            error.retry_after.is_none() && !other_reasons.contains(&error.code)
        });
        if self.resource_version.is_none() || !is_about_version {
            return false;
        }
        self.rejections += 1;
        let relists = self.rejections >= REJECTIONS_BEFORE_RELIST;
        if relists {
            self.relist(ListReason::Failed);
        }
        relists
    }

    /// Counts a watch that ended, with or without a frame before, in time or early.
    pub(super) fn watch_ended(&mut self, received_frame: bool, early: bool) {
        self.ended_early = early;
        self.silent_watches = if received_frame { 0 } else { self.silent_watches + 1 };
    }

    /// A consistent read was not older than what was seen.
    pub(super) fn epoch_confirmed(&mut self) {
        self.silent_watches = 0;
    }

    /// Whether something indicates that resourceVersions went back: the last watch failed or ended early, or several were silent.
    pub(super) fn suspects_new_epoch(&self) -> bool {
        self.failures > 0 || self.ended_early || self.silent_watches >= SILENT_WATCHES
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
        self.rejections = 0;
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
mod tests;
