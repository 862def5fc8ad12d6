//! Log levels and formats.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use super::flags::LoggingFormat;
use crate::client::REQUEST_TARGET;

/// Starts logging to standard error. `target` is the target of the program's own log lines.
pub(super) fn init(format: LoggingFormat, verbosity: u8, target: &str) {
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let logging = tracing_subscriber::registry().with(levels(verbosity, target));
    match format {
        LoggingFormat::Text => logging.with(lines.with_ansi(false)).init(),
        // The current span, with key and attempt of a sync, is in `span`; the list of all spans would repeat it.
        LoggingFormat::Json => logging
            .with(lines.json().flatten_event(true).with_span_list(false))
            .init(),
    }
}

/// The meaning of `--v`, similar to Kubernetes: 4 shows details for debugging, 6 requests, 8 everything.
fn levels(verbosity: u8, target: &str) -> Targets {
    let (ours, requests, others) = match verbosity {
        0..=3 => (LevelFilter::INFO, LevelFilter::OFF, LevelFilter::WARN),
        4 => (LevelFilter::DEBUG, LevelFilter::OFF, LevelFilter::WARN),
        5 => (LevelFilter::TRACE, LevelFilter::OFF, LevelFilter::WARN),
        6..=7 => (LevelFilter::TRACE, LevelFilter::DEBUG, LevelFilter::WARN),
        8.. => (LevelFilter::TRACE, LevelFilter::TRACE, LevelFilter::TRACE),
    };
    Targets::new()
        .with_default(others)
        .with_target(REQUEST_TARGET, requests)
        .with_target("slice_runtime", ours)
        .with_target(target, ours)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn higher_levels_show_more() {
        let (ours, program) = ("slice_runtime::engine", "my_program::pools");
        let (requests, others) = ("slice_runtime::requests", "hyper_util::client");
        for (verbosity, target, level, expected) in [
            (0, ours, Level::INFO, true),
            (0, ours, Level::DEBUG, false),
            (0, program, Level::INFO, true),
            (0, program, Level::DEBUG, false),
            (4, program, Level::DEBUG, true),
            (0, requests, Level::ERROR, false),
            (0, others, Level::WARN, true),
            (0, others, Level::INFO, false),
            (4, ours, Level::DEBUG, true),
            (4, ours, Level::TRACE, false),
            (5, ours, Level::TRACE, true),
            (5, requests, Level::ERROR, false),
            (6, requests, Level::DEBUG, true),
            (6, others, Level::DEBUG, false),
            (8, others, Level::TRACE, true),
            (255, others, Level::TRACE, true),
        ] {
            assert_eq!(
                levels(verbosity, "my_program").would_enable(target, &level),
                expected,
                "{verbosity} {target} {level}"
            );
        }
    }
}
