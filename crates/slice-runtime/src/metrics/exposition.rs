//! Metrics in the text format of Prometheus, with names and numbers as in kube-controller-manager.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text::encode_registry},
    metrics::MetricType,
    registry::Registry,
};
use slice_controller::{Measurement, MetricFamily, MetricKind, MetricSpec, MetricValue, MetricValues};

/// The media type of the text format.
pub(crate) const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A registry of metrics with a common prefix and common labels.
#[derive(Debug)]
pub(super) struct Exposition {
    values: Arc<Values>,
    registry: Registry,
}

#[derive(Debug, Default)]
struct Values(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    values: MetricValues,
    /// Gauges that are written as 0, whatever their values.
    zeroed: Vec<&'static MetricSpec>,
}

impl Exposition {
    pub(super) fn new<const N: usize>(prefix: &str, labels: [(&'static str, Cow<'static, str>); N]) -> Self {
        let values = Arc::new(Values::default());
        let labels = labels.map(|(name, value)| (Cow::Borrowed(name), value));
        let mut registry = Registry::with_prefix_and_labels(prefix, labels.into_iter());
        registry.register_collector(Box::new(Arc::clone(&values)));
        Self { values, registry }
    }

    pub(super) fn register(&self, metrics: &[&'static MetricSpec]) {
        let mut state = self.values.lock();
        for metric in metrics {
            state.values.register(metric);
        }
    }

    /// Writes the gauges among these metrics as 0, and all others with their values.
    pub(super) fn zero(&self, metrics: impl IntoIterator<Item = &'static MetricSpec>) {
        let gauges = metrics.into_iter().filter(|metric| metric.kind == MetricKind::Gauge);
        self.values.lock().zeroed = gauges.collect();
    }

    pub(super) fn apply(&self, measurements: impl IntoIterator<Item = Measurement>) {
        let mut state = self.values.lock();
        for measurement in measurements {
            state.values.apply(measurement);
        }
    }

    /// Appends all metrics in the text format.
    pub(super) fn write(&self, page: &mut String) {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry).expect("writing to a String does not fail");
        for line in text.lines() {
            push_line_go_style(line, page);
        }
    }
}

impl Values {
    /// The values stay valid if another thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A collector instead of registered metrics: registration appends a full stop to the help text and `_total` to the name of a
/// counter, which upstream's metrics lack.
impl Collector for Values {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let state = self.lock();
        for MetricFamily { metric, series } in state.values.families() {
            let is_zeroed = state.zeroed.contains(metric);
            let metric_type = match metric.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Histogram { .. } => MetricType::Histogram,
            };
            let mut encoder = encoder.encode_descriptor(metric.name, metric.help, None, metric_type)?;
            for (values, value) in series {
                let value = if is_zeroed { &MetricValue::Number(0.0) } else { value };
                let labels: Vec<_> = metric.labels.iter().copied().zip(values.iter().copied()).collect();
                if labels.is_empty() {
                    encode_value(value, &mut encoder)?;
                } else {
                    encode_value(value, &mut encoder.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}

fn encode_value(value: &MetricValue, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    match value {
        // Counters as well: `encode_counter` would append a suffix to the name.
        MetricValue::Number(number) => encoder.encode_gauge(number),
        MetricValue::Histogram { bounds, counts, sum } => {
            let bounds = bounds.iter().copied().chain([f64::INFINITY]);
            let buckets: Vec<_> = bounds.zip(counts.iter().copied()).collect();
            encoder.encode_histogram::<NoLabelSet>(*sum, counts.iter().sum(), &buckets, None)
        }
    }
}

/// Appends a line of the text format with its numbers in Go's format. The bound of a bucket is a label: `le="2.0"` and `le="2"`
/// are different time series.
fn push_line_go_style(line: &str, page: &mut String) {
    let sample = line.rsplit_once(' ').filter(|_| !line.starts_with('#'));
    let Some((series, value)) = sample else {
        page.extend([line, "\n"]);
        return;
    };
    // No label value matches: quotation marks are escaped there.
    let bound = ["{le=\"", ",le=\""].into_iter().find_map(|start| {
        let bound = series.find(start)? + start.len();
        Some((bound, bound + series[bound..].find('"')?))
    });
    match bound {
        Some((start, end)) => page.extend([&series[..start], &go_number(&series[start..end]), &series[end..]]),
        None => page.push_str(series),
    }
    page.extend([" ", &go_number(value), "\n"]);
}

/// A number in the format of Go's client: the shortest digits, with an exponent below 1e-4 and from 1e6 on.
fn go_number(number: &str) -> String {
    let number: f64 = number.parse().expect("samples and bounds are numbers");
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    match scientific.split_once('e') {
        Some((digits, exponent)) => {
            let exponent: i32 = exponent.parse().expect("an exponent is a number");
            if (-4..6).contains(&exponent) {
                number.to_string()
            } else {
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{digits}e{sign}{:02}", exponent.abs())
            }
        }
        None => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right-hand side was written by Go's `strconv.FormatFloat(number, 'g', -1, 64)`.
    #[test]
    fn numbers_are_formatted_as_in_go() {
        for (number, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (32768.0, "32768"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e-8, "1e-08"),
            (1e-8 * 10.0 * 10.0 * 10.0, "9.999999999999999e-06"),
            (16.384, "16.384"),
            (1e100, "1e+100"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(go_number(&number.to_string()), expected, "{number}");
            assert_eq!(go_number(&format!("{number:e}")), expected, "{number:e}");
        }
    }

    #[test]
    fn only_numbers_of_samples_are_reformatted() {
        for (line, expected) in [
            ("# HELP a 1.0 le=\"2.0\" 3.0", "# HELP a 1.0 le=\"2.0\" 3.0\n"),
            ("a 1.0", "a 1\n"),
            ("a_bucket{le=\"2.0\"} 3", "a_bucket{le=\"2\"} 3\n"),
            (
                "a_bucket{n=\"1.0\",le=\"1e-8\",b=\"2.0\"} 3",
                "a_bucket{n=\"1.0\",le=\"1e-08\",b=\"2.0\"} 3\n",
            ),
            (
                "a{scale=\"2.0\",b=\",le=\\\"2.0\\\"\"} 3",
                "a{scale=\"2.0\",b=\",le=\\\"2.0\\\"\"} 3\n",
            ),
        ] {
            let mut page = String::new();
            push_line_go_style(line, &mut page);
            assert_eq!(page, expected);
        }
    }

    #[test]
    fn metrics_are_written_under_upstreams_names() {
        static SYNCS: MetricSpec = MetricSpec {
            name: "syncs",
            help: "[ALPHA] Syncs",
            kind: MetricKind::Counter,
            labels: &["result"],
        };
        static DEPTH: MetricSpec = MetricSpec {
            name: "depth",
            help: "Depth",
            kind: MetricKind::Gauge,
            labels: &[],
        };
        static SIZES: MetricSpec = MetricSpec {
            name: "sizes",
            help: "Sizes.",
            kind: MetricKind::Histogram { buckets: &[1e-8, 2.0] },
            labels: &[],
        };
        let exposition = Exposition::new("queue", [("name", "web".into())]);
        exposition.register(&[&SYNCS, &DEPTH, &SIZES]);
        exposition.apply([
            Measurement::new(&SYNCS, &["success"], 1.0),
            Measurement::new(&SYNCS, &["error"], 2.0),
            Measurement::new(&SIZES, &[], 1.5),
        ]);
        let mut page = String::new();
        exposition.write(&mut page);
        let expected = "# HELP queue_depth Depth\n\
                        # TYPE queue_depth gauge\n\
                        queue_depth{name=\"web\"} 0\n\
                        # HELP queue_sizes Sizes.\n\
                        # TYPE queue_sizes histogram\n\
                        queue_sizes_sum{name=\"web\"} 1.5\n\
                        queue_sizes_count{name=\"web\"} 1\n\
                        queue_sizes_bucket{name=\"web\",le=\"1e-08\"} 0\n\
                        queue_sizes_bucket{name=\"web\",le=\"2\"} 1\n\
                        queue_sizes_bucket{name=\"web\",le=\"+Inf\"} 1\n\
                        # HELP queue_syncs [ALPHA] Syncs\n\
                        # TYPE queue_syncs counter\n\
                        queue_syncs{name=\"web\",result=\"error\"} 2\n\
                        queue_syncs{name=\"web\",result=\"success\"} 1\n";
        assert_eq!(page, expected);
    }
}
