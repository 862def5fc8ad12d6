//! SIGINT and SIGTERM: the error names what remains in the cluster.

use anyhow::{Context as _, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals, from its creation on: a signal between two parts of the command ends the next one.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("cannot handle SIGINT")?,
            terminate: signal(SignalKind::terminate()).context("cannot handle SIGTERM")?,
        })
    }

    /// Runs a part of the command. On a signal the part ends with an error, which names what remains.
    pub(crate) async fn end<T>(
        &mut self,
        part: impl Future<Output = anyhow::Result<T>>,
        remains: &str,
    ) -> anyhow::Result<T> {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => bail!("interrupted; {remains}"),
            _ = self.terminate.recv() => bail!("interrupted; {remains}"),
            result = part => result,
        }
    }
}
