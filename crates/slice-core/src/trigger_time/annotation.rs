//! The text form of the trigger time, for the annotation (R115, G30).

use jiff::Timestamp;

/// Formats the value of the annotation [`TRIGGER_TIME_ANNOTATION`](crate::well_known::TRIGGER_TIME_ANNOTATION): RFC 3339 in
/// UTC with `Z`, and a fraction without trailing zeros.
#[must_use]
pub fn format_trigger_time(time: Timestamp) -> String {
    // This is the default format of timestamps.
    time.to_string()
}

/// Parses the value of the annotation, with any offset.
pub fn parse_trigger_time(text: &str) -> Result<Timestamp, InvalidTriggerTime> {
    text.parse().map_err(|source| InvalidTriggerTime {
        text: text.to_owned(),
        source,
    })
}

/// The annotation is not a valid time.
#[derive(Debug, thiserror::Error)]
#[error("trigger time {text:?} is not a time such as 2026-01-02T03:04:05.5Z")]
pub struct InvalidTriggerTime {
    text: String,
    source: jiff::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r115_g30_trap_42_the_fraction_has_no_trailing_zeros() {
        for (nanosecond, text) in [
            (0, "2024-01-02T03:04:05Z"),
            (500_000_000, "2024-01-02T03:04:05.5Z"),
            (120_000_000, "2024-01-02T03:04:05.12Z"),
            (1_000_000, "2024-01-02T03:04:05.001Z"),
            (1_500_000, "2024-01-02T03:04:05.0015Z"),
            (123_456_789, "2024-01-02T03:04:05.123456789Z"),
            (10, "2024-01-02T03:04:05.00000001Z"),
            (1, "2024-01-02T03:04:05.000000001Z"),
        ] {
            let time = Timestamp::new(1_704_164_645, nanosecond).unwrap();
            assert_eq!(format_trigger_time(time), text);
            assert_eq!(parse_trigger_time(text).unwrap(), time);
        }
    }

    #[test]
    fn times_before_1970_and_small_years_have_the_same_format() {
        for text in ["1969-12-31T23:59:59.5Z", "0001-01-01T00:00:00Z"] {
            assert_eq!(format_trigger_time(text.parse().unwrap()), text);
        }
    }

    #[test]
    fn other_offsets_and_trailing_zeros_are_parsed() {
        let time = "2024-01-02T03:04:05.5Z".parse().unwrap();
        for text in [
            "2024-01-02T05:04:05.5+02:00",
            "2024-01-02T03:04:05.500Z",
            "2024-01-01T21:04:05.5-06:00",
        ] {
            assert_eq!(parse_trigger_time(text).unwrap(), time);
        }
    }

    #[test]
    fn invalid_time_is_named_in_the_error() {
        for text in [
            "",
            "yesterday",
            "2024-01-02",
            "2024-01-02T03:04:05",
            "2024-13-02T03:04:05Z",
        ] {
            let message = parse_trigger_time(text).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("trigger time {text:?} is not a time such as 2026-01-02T03:04:05.5Z")
            );
        }
    }
}
