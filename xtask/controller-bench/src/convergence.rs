//! Waits until the slices are as desired, checked by the oracle.

use std::time::Duration;

use anyhow::bail;
use slice_oracle::{CheckConfig, Recorder, Violation, check_final_state};
use tokio::time::{Instant, sleep};

/// Time between two checks of the slices.
const POLL: Duration = Duration::from_millis(250);
/// Slices that do not change for this time are not being written.
const IDLE: Duration = Duration::from_secs(3);
/// Violations that an error lists.
const LISTED: usize = 10;

/// Waits until all slices are as desired and stay so. Returns the time until they were.
pub(crate) async fn wait_converged(recorder: &Recorder, limit: Duration) -> anyhow::Result<Duration> {
    let start = Instant::now();
    loop {
        let mut violations = violations(recorder)?;
        let elapsed = start.elapsed();
        if violations.is_empty() {
            recorder.wait_quiescent(IDLE).await?;
            violations = self::violations(recorder)?;
            if violations.is_empty() {
                return Ok(elapsed);
            }
        }
        if start.elapsed() > limit {
            let lines: Vec<String> = violations
                .iter()
                .take(LISTED)
                .map(|violation| format!("  {violation}"))
                .collect();
            bail!(
                "the slices have not converged within {} s; {} violations:\n{}",
                limit.as_secs(),
                violations.len(),
                lines.join("\n")
            );
        }
        sleep(POLL).await;
    }
}

fn violations(recorder: &Recorder) -> anyhow::Result<Vec<Violation>> {
    Ok(check_final_state(&recorder.history()?, &CheckConfig::default()))
}
