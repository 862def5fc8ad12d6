//! Formats the age of an object in one or two units, as kubectl does.

use jiff::Timestamp;

/// The time since a timestamp; `<unknown>` if there is none.
pub(super) fn since(time: Option<&str>) -> String {
    let then = time.and_then(|time| time.parse::<Timestamp>().ok());
    match then {
        Some(then) => format_age(Timestamp::now().duration_since(then).as_secs()),
        None => "<unknown>".into(),
    }
}

/// Formats seconds. Short durations are exact to the second, long ones to the day.
fn format_age(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: i64, unit: &str, rest: i64, small: &str| match rest {
        0 => format!("{large}{unit}"),
        rest => format!("{large}{unit}{rest}{small}"),
    };
    match seconds.max(0) {
        0..120 => format!("{}s", seconds.max(0)),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        _ => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_at_most_two_units() {
        for (seconds, expected) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3_600, "60m"),
            (10_860, "3h1m"),
            (90_000, "25h"),
            (176_400, "2d1h"),
            (864_000, "10d"),
        ] {
            assert_eq!(format_age(seconds), expected);
        }
    }
}
