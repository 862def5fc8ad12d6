//! Log levels and formats, and the thread that writes log lines.

use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use super::flags::LoggingFormat;
use crate::client::REQUEST_TARGET;

/// Log lines that wait for standard error. More are dropped and counted, so that a reader that stops reading costs lines and a
/// few megabytes, and stops nothing.
const MAX_WAITING_LINES: usize = 8192;

/// The thread that writes log lines, from [`init`] to [`flush`].
static WRITER: OnceLock<Writer> = OnceLock::new();

struct Writer {
    guard: Mutex<Option<WorkerGuard>>,
    errors: ErrorCounter,
}

/// Starts logging to standard error. `target` is the target of the program's own log lines.
pub(super) fn init(format: LoggingFormat, verbosity: u8, target: &str) {
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(MAX_WAITING_LINES)
        .thread_name("log-writer")
        .finish(std::io::stderr());
    let errors = writer.error_counter();
    let guard = Mutex::new(Some(guard));
    // A second call would fail below: a process has one subscriber.
    let _ = WRITER.set(Writer { guard, errors });
    let lines = fmt::layer().with_writer(writer).with_target(false);
    let logging = tracing_subscriber::registry().with(levels(verbosity, target));
    match format {
        LoggingFormat::Text => logging.with(lines.with_ansi(false)).init(),
        // The current span, with key and attempt of a sync, is in `span`; the list of all spans would repeat it.
        LoggingFormat::Json => logging
            .with(lines.json().flatten_event(true).with_span_list(false))
            .init(),
    }
}

/// Waits until all log lines are written, about a second at most. Later ones are dropped.
pub(super) fn flush() {
    if let Some(writer) = WRITER.get() {
        let guard = writer.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(guard);
    }
}

/// The number of log lines that were dropped.
pub(super) fn dropped_lines() -> usize {
    WRITER.get().map_or(0, |writer| writer.errors.dropped_lines())
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
