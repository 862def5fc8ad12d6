//! The log lines of a sync.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use slice_controller::WriteError;

use super::stub::{engine, one_write};
use crate::{api::WriteResult, fixtures::Log};

/// A sync that fails so many times, once a minute, with a message of the server, which contains a line break and an escape sequence.
fn failing_syncs(times: u32) {
    let mut now = Instant::now();
    let (mut engine, _) = engine(one_write(), &["a"], now);
    for _ in 0..times {
        let job = engine.process_due(9, now, Timestamp::now()).jobs.remove(0);
        job.span.in_scope(|| tracing::info!("a line of a writer"));
        let message = "denied\nINFO forged line \u{1b}[2K".to_owned();
        let error = WriteError::Api {
            code: 403,
            reason: "Forbidden".to_owned(),
            message,
        };
        let retry_after = None;
        engine.on_write_result(&job.key, 0, WriteResult::Failed { error, retry_after }, now);
        engine.on_writes_done(&job.key, now);
        now += Duration::from_secs(60);
    }
}

/// The log lines of failing syncs.
fn log_of_failing_syncs(times: u32) -> Vec<String> {
    logged(|| failing_syncs(times))
}

/// The lines that `syncs` logs.
fn logged(syncs: impl Fn()) -> Vec<String> {
    // Registers the callsites. One that another test registers while the subscriber is set could miss that subscriber.
    syncs();
    let log = Log::default();
    tracing::subscriber::with_default(log.subscriber(), syncs);
    log.lines()
}

#[test]
fn a_key_that_fails_for_ever_does_not_flood_the_log() {
    let lines = log_of_failing_syncs(60);
    let warnings: Vec<&String> = lines.iter().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 3 + 5, "{warnings:#?}");
    assert!(warnings[3].ends_with(" not_logged=9"), "{warnings:#?}");
}

/// The key is synced again with the live slice; nothing is wrong.
#[test]
fn a_conflict_is_no_warning() {
    let lines = logged(|| {
        let now = Instant::now();
        let (mut engine, _) = engine(one_write(), &["a"], now);
        let job = engine.process_due(9, now, Timestamp::now()).jobs.remove(0);
        engine.on_write_result(&job.key, 0, WriteResult::Conflict(None), now);
        engine.on_writes_done(&job.key, now);
    });
    let conflict = "failed to delete slice : conflict: another client changed the slice first";
    let line = format!(" INFO sync{{key=ns/a attempt=1}}: conflict; the key is requeued error={conflict}");
    assert_eq!(lines, [line]);
}

#[test]
fn log_lines_of_a_sync_carry_key_and_attempt_and_server_text_cannot_break_them() {
    let failed = "sync failed; the key is requeued error=failed to delete slice : denied\\nINFO forged line \\u{1b}[2K";
    let expected: Vec<String> = (1..=2)
        .flat_map(|attempt| {
            let span = format!("sync{{key=ns/a attempt={attempt}}}");
            [
                format!(" INFO {span}: a line of a writer"),
                format!(" WARN {span}: {failed}"),
            ]
        })
        .collect();
    assert_eq!(log_of_failing_syncs(2), expected);
}
