//! SIGINT and SIGTERM: the error names what remains in the cluster.

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Runs a part of the command. On a signal the part ends with an error, which names what remains.
pub(crate) async fn interruptible<T>(
    part: impl Future<Output = anyhow::Result<T>>,
    remains: &str,
) -> anyhow::Result<T> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    tokio::select! {
        result = part => result,
        _ = interrupt.recv() => bail!("interrupted; {remains}"),
        _ = terminate.recv() => bail!("interrupted; {remains}"),
    }
}
