//! Metrics as plain data: a controller describes and records them, the runtime exposes them.

use std::collections::{BTreeMap, HashMap};

use crate::Key;

/// The default histogram buckets of Prometheus clients: upper bounds in seconds.
pub const DEFAULT_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Histogram buckets whose upper bounds grow by `factor`.
#[must_use]
pub const fn exponential_buckets<const N: usize>(start: f64, factor: f64) -> [f64; N] {
    let mut bounds = [start; N];
    let mut index = 1;
    // Multiplied step by step like in Go's client: powers would round to other digits.
    while index < N {
        bounds[index] = bounds[index - 1] * factor;
        index += 1;
    }
    bounds
}

/// The description of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricSpec {
    /// Its name, without the prefix that all metrics of a program share.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// Its type.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
}

/// The type of a metric, which determines how measurements are applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// The sum of all values.
    Counter,
    /// The last value.
    Gauge,
    /// The number of values per bucket.
    Histogram {
        /// The upper bounds of the buckets, ascending; a last bucket without a bound is implied.
        buckets: &'static [f64],
    },
}

/// A value that was recorded for a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    metric: &'static MetricSpec,
    labels: Vec<&'static str>,
    value: f64,
}

impl Measurement {
    /// A measurement, with one value per label of the metric. Label values are static strings, so that the number of time
    /// series is bounded.
    ///
    /// # Panics
    /// If the number of label values differs from the number of labels.
    #[must_use]
    pub fn new(metric: &'static MetricSpec, labels: &[&'static str], value: f64) -> Self {
        assert_eq!(labels.len(), metric.labels.len(), "label values of {}", metric.name);
        Self {
            metric,
            labels: labels.to_vec(),
            value,
        }
    }

    /// A measurement of a count, with label values as in [`new`](Self::new).
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    pub fn of_count(metric: &'static MetricSpec, labels: &[&'static str], count: usize) -> Self {
        Self::new(metric, labels, count as f64)
    }
}

/// A buffer of measurements.
#[derive(Debug, Default)]
pub struct Measurements(Vec<Measurement>);

impl Measurements {
    /// Records a value, with label values as in [`Measurement::new`].
    pub fn record(&mut self, metric: &'static MetricSpec, labels: &[&'static str], value: f64) {
        self.0.push(Measurement::new(metric, labels, value));
    }

    /// Records a count.
    pub fn record_count(&mut self, metric: &'static MetricSpec, labels: &[&'static str], count: usize) {
        self.0.push(Measurement::of_count(metric, labels, count));
    }

    /// Takes the recorded measurements.
    #[must_use]
    pub fn take(&mut self) -> Vec<Measurement> {
        std::mem::take(&mut self.0)
    }
}

/// Gauges that are sums over keys. The contribution of each key is cached, so that an update takes constant time.
#[derive(Debug)]
pub struct GaugeSums<const N: usize> {
    gauges: [(&'static MetricSpec, &'static [&'static str]); N],
    contributions: HashMap<Key, [usize; N]>,
    sums: [usize; N],
}

impl<const N: usize> GaugeSums<N> {
    /// Sums without any key, for these gauges with these label values.
    #[must_use]
    pub fn new(gauges: [(&'static MetricSpec, &'static [&'static str]); N]) -> Self {
        Self {
            gauges,
            contributions: HashMap::new(),
            sums: [0; N],
        }
    }

    /// Replaces the contribution of a key to each gauge, and records the sums that change.
    pub fn replace(&mut self, key: &Key, contribution: Option<[usize; N]>, measurements: &mut Measurements) {
        let before = match contribution {
            Some(contribution) => self.contributions.insert(key.clone(), contribution),
            None => self.contributions.remove(key),
        };
        // An unknown key contributes nothing.
        let (before, now) = (before.unwrap_or([0; N]), contribution.unwrap_or([0; N]));
        for index in 0..N {
            if before[index] != now[index] {
                self.sums[index] = self.sums[index] - before[index] + now[index];
                let (metric, labels) = self.gauges[index];
                measurements.record_count(metric, labels, self.sums[index]);
            }
        }
    }
}

/// The current values of all metrics.
#[derive(Debug, Default)]
pub struct MetricValues {
    families: BTreeMap<&'static str, MetricFamily>,
}

/// A metric with its time series.
#[derive(Debug)]
pub struct MetricFamily {
    /// The metric.
    pub metric: &'static MetricSpec,
    /// The values, by label values.
    pub series: BTreeMap<Vec<&'static str>, MetricValue>,
}

/// The value of a time series.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricValue {
    /// The value of a counter or a gauge.
    Number(f64),
    /// The value of a histogram.
    Histogram {
        /// The upper bounds of the buckets, without the last one, which has none.
        bounds: &'static [f64],
        /// The number of values in each bucket.
        counts: Vec<u64>,
        /// The sum of all values.
        sum: f64,
    },
}

impl MetricValues {
    /// Registers a metric. A metric without labels has the value zero at once.
    ///
    /// # Panics
    /// If another metric has the same name.
    pub fn register(&mut self, metric: &'static MetricSpec) {
        let family = self.family(metric);
        assert_eq!(family.metric, metric, "two metrics are named {}", metric.name);
        if metric.labels.is_empty() {
            family.series.entry(Vec::new()).or_insert_with(|| zero(metric.kind));
        }
    }

    /// Applies a measurement.
    pub fn apply(&mut self, measurement: Measurement) {
        let Measurement { metric, labels, value } = measurement;
        let MetricFamily { metric, series } = self.family(metric);
        match series.entry(labels).or_insert_with(|| zero(metric.kind)) {
            MetricValue::Number(number) if metric.kind == MetricKind::Counter => *number += value,
            MetricValue::Number(number) => *number = value,
            MetricValue::Histogram { bounds, counts, sum } => {
                counts[bounds.partition_point(|bound| *bound < value)] += 1;
                *sum += value;
            }
        }
    }

    /// The metrics that have a value, sorted by name.
    pub fn families(&self) -> impl Iterator<Item = &MetricFamily> {
        self.families.values().filter(|family| !family.series.is_empty())
    }

    /// The value of a metric for these label values.
    #[must_use]
    pub fn get(&self, name: &str, labels: &[&'static str]) -> Option<&MetricValue> {
        self.families.get(name)?.series.get(labels)
    }

    fn family(&mut self, metric: &'static MetricSpec) -> &mut MetricFamily {
        let new = || MetricFamily {
            metric,
            series: BTreeMap::new(),
        };
        self.families.entry(metric.name).or_insert_with(new)
    }
}

fn zero(kind: MetricKind) -> MetricValue {
    match kind {
        MetricKind::Counter | MetricKind::Gauge => MetricValue::Number(0.0),
        MetricKind::Histogram { buckets } => MetricValue::Histogram {
            bounds: buckets,
            counts: vec![0; buckets.len() + 1],
            sum: 0.0,
        },
    }
}

#[cfg(test)]
mod tests;
