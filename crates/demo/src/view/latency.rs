//! How long a change of a pod takes until slices show it, as one sees it who watches both.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// Since when pods, by uid, wait to be shown as they are.
    waiting: BTreeMap<String, Timestamp>,
    /// What it took, in order.
    took: Vec<Duration>,
}

impl Latency {
    /// A pod has changed in a way that slices do not show yet.
    pub(super) fn waits(&mut self, pod: &str, since: Timestamp) {
        self.waiting.entry(pod.to_owned()).or_insert(since);
    }

    /// Slices show a pod as it is.
    pub(super) fn shown(&mut self, pod: &str, now: Timestamp) {
        if let Some(since) = self.waiting.remove(pod) {
            let took = Duration::try_from(now.duration_since(since)).unwrap_or_default();
            let place = self.took.partition_point(|earlier| *earlier <= took);
            self.took.insert(place, took);
        }
    }

    /// In how long this share of the changes was shown.
    pub(crate) fn quantile(&self, percent: usize) -> Option<Duration> {
        let last = self.took.len().checked_sub(1)?;
        self.took.get(last * percent / 100).copied()
    }

    /// How many changes were shown.
    pub(crate) fn count(&self) -> usize {
        self.took.len()
    }

    /// All of it in words.
    pub(crate) fn in_words(&self) -> String {
        let words = |percent| self.quantile(percent).map_or_else(|| "–".to_owned(), milliseconds);
        format!(
            "pod changed → slice written: median {}, 99 % within {} ({} changes)",
            words(50),
            words(99),
            self.count()
        )
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}
