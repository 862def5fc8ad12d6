//! Which failures in a row are logged, so that what fails for ever does not flood the log.

use std::time::{Duration, Instant};

/// Failures in a row that are logged in any case.
const ALWAYS_LOGGED: u32 = 3;
/// The time after which a failure that stays the same is logged again.
const REPEAT_AFTER: Duration = Duration::from_secs(600);
/// Bytes of an error that are kept. A server may send a page of HTML.
const MAX_ERROR_BYTES: usize = 1024;

/// The failures in a row of one key or watch.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    last_error: String,
    logged_at: Option<Instant>,
    failures: u32,
    not_logged: u32,
}

impl FailureLog {
    /// Records a failure. Returns whether to log it, as the number of failures since the last line that were not logged: the
    /// first ones in a row, those with another error, and one per ten minutes.
    pub(crate) fn record(&mut self, error: &str, now: Instant) -> Option<u32> {
        let error = truncate(error);
        let changed = self.last_error != error;
        if changed {
            error.clone_into(&mut self.last_error);
        }
        self.failures = self.failures.saturating_add(1);
        let repeats = |at: Instant| now.saturating_duration_since(at) >= REPEAT_AFTER;
        if changed || self.failures <= ALWAYS_LOGGED || self.logged_at.is_some_and(repeats) {
            self.logged_at = Some(now);
            return Some(std::mem::take(&mut self.not_logged));
        }
        self.not_logged = self.not_logged.saturating_add(1);
        None
    }

    /// The failures in a row have ended.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The last error, shortened to a kilobyte.
    pub(crate) fn last_error(&self) -> &str {
        &self.last_error
    }
}

/// The least time between two log lines of a [`LogInterval`].
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Counts what happens often between two log lines about it.
#[derive(Debug, Default)]
pub(crate) struct LogInterval {
    count: u64,
    logged_at: Option<Instant>,
}

impl LogInterval {
    /// Counts one. Returns the number since the last log line if another one may be written.
    pub(crate) fn count(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        let is_due = |at: Instant| now.saturating_duration_since(at) >= LOG_INTERVAL;
        self.logged_at.is_none_or(is_due).then(|| {
            self.logged_at = Some(now);
            std::mem::take(&mut self.count)
        })
    }
}

fn truncate(error: &str) -> &str {
    let end = (0..=MAX_ERROR_BYTES.min(error.len())).rfind(|end| error.is_char_boundary(*end));
    &error[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(60);

    /// An hour of failures, one a minute: the lines after the first three are one per ten minutes, each with the number of
    /// failures before it that were not logged.
    #[test]
    fn a_failure_that_stays_the_same_is_logged_three_times_and_every_ten_minutes() {
        let (mut log, start) = (FailureLog::default(), Instant::now());
        let logged: Vec<(u32, u32)> = (0..60)
            .filter_map(|minute| Some((minute, log.record("denied", start + STEP * minute)?)))
            .collect();
        let repeated = [12, 22, 32, 42, 52].map(|minute| (minute, 9));
        assert_eq!(logged, [&[(0, 0), (1, 0), (2, 0)], &repeated[..]].concat());
    }

    #[test]
    fn another_error_is_logged_at_once_and_a_reset_starts_again() {
        let (mut log, now) = (FailureLog::default(), Instant::now());
        let errors = ["a", "a", "a", "a", "b", "b", "a"];
        let logged = errors.map(|error| log.record(error, now));
        assert_eq!(logged, [Some(0), Some(0), Some(0), None, Some(1), None, Some(1)]);
        log.reset();
        assert_eq!(log.record("a", now), Some(0));
    }

    #[test]
    fn one_line_a_minute_has_the_number_since_the_last_one() {
        let (mut log, start) = (LogInterval::default(), Instant::now());
        let logged = [0, 1, 59, 60, 61].map(|seconds| log.count(start + Duration::from_secs(seconds)));
        assert_eq!(logged, [Some(1), None, None, Some(3), None]);
    }

    #[test]
    fn a_long_error_is_kept_in_part() {
        let mut log = FailureLog::default();
        let error = "ä".repeat(MAX_ERROR_BYTES);
        log.record(&error, Instant::now());
        assert_eq!(log.last_error(), &error[..MAX_ERROR_BYTES]);
        log.record(&format!("a{error}"), Instant::now());
        assert_eq!(log.last_error().len(), MAX_ERROR_BYTES - 1);
    }
}
