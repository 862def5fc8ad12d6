//! SIGINT, SIGTERM and, if the terminal is closed, SIGHUP: the error names what remains in the cluster.

use anyhow::{Context as _, bail};
use futures::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// These signals, from its creation on: a signal between two parts of the command ends the next one.
pub(crate) struct Interrupts(Vec<Signal>);

impl Interrupts {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        // Without /proc, as on macOS, nohup is not detected.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if !is_hangup_ignored(&status) {
            kinds.push(SignalKind::hangup());
        }
        let signals: Result<_, _> = kinds.into_iter().map(signal).collect();
        Ok(Self(signals.context("cannot handle signals")?))
    }

    /// Runs a part of the command. On a signal the part ends with an error, which names what remains.
    pub(crate) async fn end<T>(
        &mut self,
        part: impl Future<Output = anyhow::Result<T>>,
        remains: &str,
    ) -> anyhow::Result<T> {
        let received = self.0.iter_mut().map(|signal| Box::pin(signal.recv()));
        tokio::select! {
            biased;
            _ = select_all(received) => bail!("interrupted; {remains}"),
            result = part => result,
        }
    }
}

/// Whether the command was started by nohup: then it goes on without a terminal.
fn is_hangup_ignored(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    // The first bit is that of the first signal, SIGHUP.
    ignored.is_some_and(|signals| signals & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_nohup_ignores_stays_ignored() {
        assert!(is_hangup_ignored(
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n"
        ));
        assert!(!is_hangup_ignored(
            "SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"
        ));
        assert!(!is_hangup_ignored(""));
    }
}
