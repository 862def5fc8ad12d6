//! What is counted and measured, for whoever watches the watchers.

use std::time::{Duration, Instant};

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntGauge, Opts, Registry, exponential_buckets,
    register_gauge_vec_with_registry as register_gauges, register_gauge_with_registry as register_gauge,
    register_histogram_with_registry as register_histogram, register_int_counter_with_registry as register_counter,
    register_int_gauge_with_registry as register_int_gauge,
};

use crate::health::Health;

/// What the machinery measures; controllers add their own to the same registry.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) queue: QueueMetrics,
    change_to_write: Histogram,
    keys_failing: IntGauge,
    longest_failing: Gauge,
    watch_silence: GaugeVec,
}

impl Metrics {
    /// Registers everything: the queue under the name that dashboards know, the rest below the controller's prefix.
    pub fn new(registry: &Registry, subsystem: &str, queue: &str) -> Result<Self, prometheus::Error> {
        let own = |name: &str, help: &str| Opts::new(name, help).subsystem(subsystem);
        let change_to_write = HistogramOpts::from(own(
            "change_to_write_seconds",
            "Time from a change in the cluster until all slices that it concerns were written",
        ));
        Ok(Self {
            queue: QueueMetrics::new(registry, queue)?,
            change_to_write: register_histogram!(
                change_to_write.buckets(exponential_buckets(0.001, 2.0, 16)?),
                registry
            )?,
            keys_failing: register_int_gauge!(
                own("keys_failing", "Number of owners of slices whose last sync failed"),
                registry
            )?,
            longest_failing: register_gauge!(
                own(
                    "longest_failing_seconds",
                    "For how long the owner that has failed longest has been failing",
                ),
                registry
            )?,
            watch_silence: register_gauges!(
                own(
                    "watch_silence_seconds",
                    "Time since the API server was last heard about a resource",
                ),
                &["resource"],
                registry
            )?,
        })
    }

    /// Slices were written, so long after the change.
    pub(crate) fn written(&self, latency: Duration) {
        self.change_to_write.observe(latency.as_secs_f64());
    }

    /// The keys that fail, each with for how long it has.
    pub(crate) fn failing(&self, keys: impl Iterator<Item = Duration>) {
        let (mut count, mut longest) = (0, Duration::ZERO);
        for duration in keys {
            count += 1;
            longest = longest.max(duration);
        }
        self.keys_failing.set(count);
        self.longest_failing.set(longest.as_secs_f64());
    }

    /// How long each resource has been silent.
    pub fn watches(&self, health: &Health) {
        for (kind, state) in health.sources() {
            if let Some(silence) = state.silence(Instant::now()) {
                self.watch_silence.with_label_values(&[kind]).set(silence.as_secs_f64());
            }
        }
    }
}

/// The metrics that every work queue of Kubernetes has (R131, M125).
#[derive(Clone, Debug)]
pub(crate) struct QueueMetrics {
    depth: IntGauge,
    adds: IntCounter,
    retries: IntCounter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Gauge,
    longest_running: Gauge,
}

impl QueueMetrics {
    fn new(registry: &Registry, name: &str) -> Result<Self, prometheus::Error> {
        let opts = |metric: &str, help: &str| Opts::new(metric, help).subsystem("workqueue").const_label("name", name);
        let duration = |metric: &str, help: &str| -> Result<Histogram, prometheus::Error> {
            let opts = HistogramOpts::from(opts(metric, help)).buckets(exponential_buckets(1e-8, 10.0, 10)?);
            register_histogram!(opts, registry)
        };
        Ok(Self {
            depth: register_int_gauge!(opts("depth", "[BETA] Current depth of workqueue"), registry)?,
            adds: register_counter!(
                opts("adds_total", "[BETA] Total number of adds handled by workqueue"),
                registry
            )?,
            retries: register_counter!(
                opts("retries_total", "[BETA] Total number of retries handled by workqueue",),
                registry
            )?,
            queue_duration: duration(
                "queue_duration_seconds",
                "[BETA] How long in seconds an item stays in workqueue before being requested.",
            )?,
            work_duration: duration(
                "work_duration_seconds",
                "[BETA] How long in seconds processing an item from workqueue takes.",
            )?,
            unfinished: register_gauge!(
                opts(
                    "unfinished_work_seconds",
                    "[BETA] How many seconds of work has done that is in progress and hasn't been observed by \
                     work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by \
                     observing the rate at which this increases.",
                ),
                registry
            )?,
            longest_running: register_gauge!(
                opts(
                    "longest_running_processor_seconds",
                    "[BETA] How many seconds has the longest running processor for workqueue been running.",
                ),
                registry
            )?,
        })
    }

    /// A key was asked for.
    pub(crate) fn added(&self, delay: Duration) {
        self.adds.inc();
        if !delay.is_zero() {
            self.retries.inc();
        }
    }

    /// A key was handed out after so long.
    pub(crate) fn taken(&self, waited: Duration) {
        self.queue_duration.observe(waited.as_secs_f64());
    }

    /// A key was given back after so long.
    pub(crate) fn finished(&self, worked: Duration, success: bool) {
        self.work_duration.observe(worked.as_secs_f64());
        if !success {
            self.retries.inc();
        }
    }

    pub(crate) fn depth(&self, keys: usize) {
        self.depth.set(i64::try_from(keys).unwrap_or(i64::MAX));
    }

    /// The keys that are handed out, each with for how long.
    pub(crate) fn running(&self, keys: impl Iterator<Item = Duration>) {
        let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
        for duration in keys {
            sum += duration;
            longest = longest.max(duration);
        }
        self.unfinished.set(sum.as_secs_f64());
        self.longest_running.set(longest.as_secs_f64());
    }
}
