//! Latency from a pod's watch event to the slice's watch event that reflects it.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

/// Pending changes and measured latencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// Time of the first change that slices do not reflect yet, by pod uid.
    pending: BTreeMap<String, Timestamp>,
    /// Measured latencies, sorted.
    latencies: Vec<Duration>,
}

impl Latency {
    /// A pod has changed, and slices do not reflect it yet.
    pub(super) fn start(&mut self, pod: &str, since: Timestamp) {
        self.pending.entry(pod.to_owned()).or_insert(since);
    }

    /// Slices reflect the current state of a pod.
    pub(super) fn finish(&mut self, pod: &str, now: Timestamp) {
        if let Some(since) = self.pending.remove(pod) {
            let latency = Duration::try_from(now.duration_since(since)).unwrap_or_default();
            let index = self.latencies.partition_point(|other| *other <= latency);
            self.latencies.insert(index, latency);
        }
    }

    /// A percentile of the latencies.
    pub(crate) fn percentile(&self, percent: usize) -> Option<Duration> {
        let last = self.latencies.len().checked_sub(1)?;
        self.latencies.get(last * percent / 100).copied()
    }

    /// Number of measured latencies.
    pub(crate) fn count(&self) -> usize {
        self.latencies.len()
    }

    /// One line with median and 99th percentile.
    pub(crate) fn summary(&self) -> String {
        let format = |percent| self.percentile(percent).map_or_else(|| "–".to_owned(), milliseconds);
        format!(
            "pod changed → slice written: median {}, 99 % within {} ({} changes)",
            format(50),
            format(99),
            self.count()
        )
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}
