//! Durations in Go's format.

use std::{fmt, str::FromStr, time::Duration};

use jiff::{SignedDuration, fmt::friendly::SpanParser};

/// A duration on the command line: `1m30s`, `500ms`, `0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoDuration(Duration);

impl GoDuration {
    /// The duration; a negative one is zero, as in kube-controller-manager (R1).
    #[must_use]
    pub fn as_duration(self) -> Duration {
        self.0
    }
}

impl FromStr for GoDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // As in Go, zero needs no unit.
        let text = if matches!(text, "0" | "+0" | "-0") { "0s" } else { text };
        let parsed = SpanParser::new().parse_duration(text).ok();
        let parsed = parsed.filter(|parsed| i64::try_from(parsed.as_nanos()).is_ok());
        let parsed = parsed.ok_or("not a duration such as 1m30s, 500ms or 0")?;
        Ok(Self(parsed.max(SignedDuration::ZERO).unsigned_abs()))
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_as_in_go() {
        let millis = |text: &str| {
            text.parse::<GoDuration>()
                .ok()
                .map(|duration| duration.as_duration().as_millis())
        };
        for (text, expected) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("1m30s", 90_000),
            ("1.5s", 1_500),
            ("1h0m0s", 3_600_000),
            ("12h", 43_200_000),
            ("1500us", 1),
            ("1500µs", 1),
            // Go's own limit.
            ("2562047h47m16s", 9_223_372_036_000),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for invalid in ["", "1", "s", "1x", "one minute", "1d", "PT1M", "2562048h"] {
            assert_eq!(millis(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_negative_duration_is_zero() {
        assert_eq!("-5s".parse(), Ok(GoDuration(Duration::ZERO)));
    }
}
