//! How far a watch has come, and how long it waits when it fails.

use std::{num::NonZeroU64, time::Duration};

use http::StatusCode;

use crate::client::RequestError;

const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How far a watch has come.
#[derive(Debug)]
pub(super) struct Progress {
    /// The version up to which everything is known; without one, everything has to be listed.
    position: Option<Box<str>>,
    /// The newest version ever seen, of those that are numbers: others cannot be compared. It is never 0, which stands for
    /// any version.
    newest: Option<NonZeroU64>,
    failures: u32,
    /// Whether the server is taken to list and watch in one stream.
    pub(super) watch_list: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            position: None,
            newest: None,
            failures: 0,
            watch_list: true,
        }
    }
}

impl Progress {
    pub(super) fn position(&self) -> Option<&str> {
        self.position.as_deref()
    }

    /// Everything up to this version is known. An empty version, of an object that lacks one, changes nothing.
    pub(super) fn reach(&mut self, version: &str) {
        if version.is_empty() {
            return;
        }
        self.position = Some(version.into());
        self.newest = self.newest.max(version.parse().ok());
        self.failures = 0;
    }

    pub(super) fn forget_position(&mut self) {
        self.position = None;
    }

    /// The newest version ever seen; empty if none was.
    pub(super) fn newest(&self) -> String {
        self.newest.map_or_else(String::new, |newest| newest.to_string())
    }

    /// The newest version that was seen, if this one is older: nothing may be concluded from it (I11).
    pub(super) fn is_back_in_time(&self, version: &str) -> Option<u64> {
        let version: u64 = version.parse().ok()?;
        self.newest.map(NonZeroU64::get).filter(|newest| version < *newest)
    }

    /// Whether the answer to the request for a list in a stream says that there is no such thing; pages are used then.
    pub(super) fn refuses_watch_list(&mut self, error: &RequestError) -> bool {
        let unknown = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
        let refused = self.watch_list && error.api_error().is_some_and(|error| unknown.contains(&error.code));
        self.watch_list &= !refused;
        refused
    }

    pub(super) fn went_well(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after a failure: what the server asked for, or longer and longer. Spread by `chance` (0 to 1), so
    /// that not everybody comes back at once.
    pub(super) fn went_wrong(&mut self, asked_for: Option<Duration>, chance: f64) -> Duration {
        let wait = FIRST_WAIT
            .saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX))
            .min(LONGEST_WAIT);
        self.failures = self.failures.saturating_add(1);
        asked_for.unwrap_or_else(|| wait.mul_f64(0.5 + 0.5 * chance))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

    use super::*;
    use crate::client::ApiError;

    fn refused(code: i32) -> RequestError {
        RequestError::Api(ApiError::from_event(Status {
            code: Some(code),
            ..Status::default()
        }))
    }

    /// I11, F15.
    #[test]
    fn an_older_list_is_noticed_also_after_the_position_was_lost() {
        let mut progress = Progress::default();
        assert_eq!(progress.is_back_in_time("1"), None);
        progress.reach("7");
        progress.forget_position();
        assert_eq!(progress.position(), None);
        assert_eq!(
            ["6", "7", "10"].map(|version| progress.is_back_in_time(version)),
            [Some(7), None, None]
        );
    }

    /// A watch from an empty position begins with the current state, and deletions before it are missed.
    #[test]
    fn a_missing_version_changes_nothing_and_others_are_kept_as_they_are() {
        let mut progress = Progress::default();
        progress.reach("");
        assert_eq!((progress.position(), progress.newest().as_str()), (None, ""));
        progress.reach("7");
        progress.reach("");
        assert_eq!((progress.position(), progress.newest().as_str()), (Some("7"), "7"));
        progress.reach("opaque");
        assert_eq!((progress.position(), progress.newest().as_str()), (Some("opaque"), "7"));
    }

    #[test]
    fn a_server_without_lists_in_streams_is_asked_for_pages() {
        for (code, expected) in [(400, true), (422, true), (403, false), (500, false)] {
            let mut progress = Progress::default();
            assert_eq!(progress.refuses_watch_list(&refused(code)), expected, "{code}");
            assert_eq!(progress.watch_list, !expected);
        }
        let mut paged = Progress::default();
        paged.refuses_watch_list(&refused(422));
        assert!(
            !paged.refuses_watch_list(&refused(422)),
            "then it is an error like any other"
        );
    }

    #[test]
    fn waits_grow_up_to_a_bound_and_progress_ends_them() {
        let mut progress = Progress::default();
        let waits: Vec<_> = (0..40).map(|_| progress.went_wrong(None, 1.0)).collect();
        assert_eq!(
            (waits[0], waits[1], waits[39]),
            (FIRST_WAIT, 2 * FIRST_WAIT, LONGEST_WAIT)
        );
        progress.reach("1");
        assert_eq!(progress.went_wrong(None, 0.0), FIRST_WAIT / 2);
        assert_eq!(
            progress.went_wrong(Some(Duration::from_secs(30)), 0.0),
            Duration::from_secs(30)
        );
    }
}
