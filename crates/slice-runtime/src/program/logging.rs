//! Log levels and formats.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use super::flags::LoggingFormat;

/// Says on every request what it is, and what went wrong with it; the latter we say ourselves.
const REQUESTS: &str = "kube_client::client::builder";

/// Logs to standard error from now on; `target` is that of the program's own log lines.
pub(super) fn start(format: LoggingFormat, verbosity: u8, target: &str) {
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let logging = tracing_subscriber::registry().with(levels(verbosity, target));
    match format {
        LoggingFormat::Text => logging.with(lines.with_ansi(false)).init(),
        LoggingFormat::Json => logging.with(lines.json().flatten_event(true)).init(),
    }
}

/// What a level of `--v` means, near to what it does in Kubernetes: 4 is for debugging, 6 shows requests, 8 all.
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
        .with_target(REQUESTS, requests)
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
        let (requests, others) = ("kube_client::client::builder", "hyper_util::client");
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
