//! The metrics of a program: its work queue's, the runtime's own and its controller's.

mod exposition;

use std::time::{Duration, Instant};

use slice_controller::{Measurement, MetricKind, MetricSpec, exponential_buckets};

use crate::health::Health;
use exposition::Exposition;
pub(crate) use exposition::TEXT_FORMAT;

/// All but those of the controller and of the work queue.
static METRICS: [&MetricSpec; 6] = [
    &CHANGE_TO_WRITE,
    &KEYS_FAILING,
    &LONGEST_FAILING,
    &WATCH_SILENCE,
    &EVENTS_DROPPED,
    &OBJECTS_SKIPPED,
];

static CHANGE_TO_WRITE: MetricSpec = MetricSpec {
    name: "change_to_write_seconds",
    help: "Time from a change in the cluster until all slices that it concerns were written",
    kind: MetricKind::Histogram {
        buckets: &exponential_buckets::<16>(0.001, 2.0),
    },
    labels: &[],
};
static KEYS_FAILING: MetricSpec = MetricSpec {
    name: "keys_failing",
    help: "Number of owners of slices whose last sync failed",
    kind: MetricKind::Gauge,
    labels: &[],
};
static LONGEST_FAILING: MetricSpec = MetricSpec {
    name: "oldest_failing_key_seconds",
    help: "For how long the owner that has failed longest has been failing",
    kind: MetricKind::Gauge,
    labels: &[],
};
static WATCH_SILENCE: MetricSpec = MetricSpec {
    name: "watch_last_activity_seconds",
    help: "Time since the API server was last heard about a resource",
    kind: MetricKind::Gauge,
    labels: &["resource"],
};
static EVENTS_DROPPED: MetricSpec = MetricSpec {
    name: "events_dropped_total",
    help: "Number of events that were not recorded because too many waited to be sent",
    kind: MetricKind::Counter,
    labels: &[],
};
static OBJECTS_SKIPPED: MetricSpec = MetricSpec {
    name: "objects_skipped_total",
    help: "Number of watched objects that were skipped because they could not be decoded",
    kind: MetricKind::Counter,
    labels: &["resource"],
};

/// The metrics of a program, which its controller adds its own to.
#[derive(Debug)]
pub struct Metrics {
    pub(crate) queue: QueueMetrics,
    controller: Exposition,
}

impl Metrics {
    /// The metrics of a program whose work queue has this name; all others begin with the subsystem.
    #[must_use]
    pub fn new(subsystem: &str, queue: &'static str) -> Self {
        let metrics = Self {
            queue: QueueMetrics::new(queue),
            controller: Exposition::new(subsystem, &[]),
        };
        metrics.register(&METRICS);
        metrics
    }

    /// All metrics in the text format of Prometheus.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        self.controller.write(&mut page);
        self.queue.0.write(&mut page);
        page
    }

    /// Makes metrics of the controller known.
    pub(crate) fn register(&self, metrics: &[&'static MetricSpec]) {
        self.controller.register(metrics);
    }

    /// Applies measurements of the controller.
    pub(crate) fn apply(&self, measurements: Vec<Measurement>) {
        self.controller.apply(measurements);
    }

    fn record(&self, metric: &'static MetricSpec, labels: &[&'static str], value: f64) {
        self.controller.apply([Measurement::new(metric, labels, value)]);
    }

    /// Slices were written, so long after the change.
    pub(crate) fn written(&self, latency: Duration) {
        self.record(&CHANGE_TO_WRITE, &[], latency.as_secs_f64());
    }

    /// An event was dropped.
    pub(crate) fn event_dropped(&self) {
        self.record(&EVENTS_DROPPED, &[], 1.0);
    }

    /// An object of a resource could not be decoded.
    pub(crate) fn object_skipped(&self, resource: &'static str) {
        self.record(&OBJECTS_SKIPPED, &[resource], 1.0);
    }

    /// The keys that fail, each with for how long it has.
    pub(crate) fn failing(&self, keys: impl Iterator<Item = Duration>) {
        let (mut count, mut longest) = (0, Duration::ZERO);
        for duration in keys {
            count += 1;
            longest = longest.max(duration);
        }
        self.apply(vec![Measurement::of_count(&KEYS_FAILING, &[], count)]);
        self.record(&LONGEST_FAILING, &[], longest.as_secs_f64());
    }

    /// How long each resource has been silent.
    pub fn watches(&self, health: &Health) {
        for (kind, state) in health.watches() {
            if let Some(silence) = state.idle_for(Instant::now()) {
                self.record(&WATCH_SILENCE, &[kind], silence.as_secs_f64());
            }
        }
    }
}

/// The metrics that every work queue of Kubernetes has (R131, M125).
static QUEUE_METRICS: [&MetricSpec; 7] = [
    &DEPTH,
    &ADDS,
    &RETRIES,
    &QUEUE_DURATION,
    &WORK_DURATION,
    &UNFINISHED,
    &LONGEST_RUNNING,
];

const DURATION: MetricKind = MetricKind::Histogram {
    buckets: &exponential_buckets::<10>(1e-8, 10.0),
};

static DEPTH: MetricSpec = MetricSpec {
    name: "depth",
    help: "[BETA] Current depth of workqueue",
    kind: MetricKind::Gauge,
    labels: &[],
};
static ADDS: MetricSpec = MetricSpec {
    name: "adds_total",
    help: "[BETA] Total number of adds handled by workqueue",
    kind: MetricKind::Counter,
    labels: &[],
};
static RETRIES: MetricSpec = MetricSpec {
    name: "retries_total",
    help: "[BETA] Total number of retries handled by workqueue",
    kind: MetricKind::Counter,
    labels: &[],
};
static QUEUE_DURATION: MetricSpec = MetricSpec {
    name: "queue_duration_seconds",
    help: "[BETA] How long in seconds an item stays in workqueue before being requested.",
    kind: DURATION,
    labels: &[],
};
static WORK_DURATION: MetricSpec = MetricSpec {
    name: "work_duration_seconds",
    help: "[BETA] How long in seconds processing an item from workqueue takes.",
    kind: DURATION,
    labels: &[],
};
static UNFINISHED: MetricSpec = MetricSpec {
    name: "unfinished_work_seconds",
    help: "[BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large \
           values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this \
           increases.",
    kind: MetricKind::Gauge,
    labels: &[],
};
static LONGEST_RUNNING: MetricSpec = MetricSpec {
    name: "longest_running_processor_seconds",
    help: "[BETA] How many seconds has the longest running processor for workqueue been running.",
    kind: MetricKind::Gauge,
    labels: &[],
};

/// The metrics of the work queue.
#[derive(Debug)]
pub(crate) struct QueueMetrics(Exposition);

impl QueueMetrics {
    fn new(name: &'static str) -> Self {
        let exposition = Exposition::new("workqueue", &[("name", name)]);
        exposition.register(&QUEUE_METRICS);
        Self(exposition)
    }

    fn record(&self, metric: &'static MetricSpec, value: f64) {
        self.0.apply([Measurement::new(metric, &[], value)]);
    }

    /// A key was asked for.
    pub(crate) fn added(&self, delay: Duration) {
        self.record(&ADDS, 1.0);
        if !delay.is_zero() {
            self.record(&RETRIES, 1.0);
        }
    }

    /// A key was handed out after so long.
    pub(crate) fn taken(&self, waited: Duration) {
        self.record(&QUEUE_DURATION, waited.as_secs_f64());
    }

    /// A key was given back after so long.
    pub(crate) fn finished(&self, worked: Duration, success: bool) {
        self.record(&WORK_DURATION, worked.as_secs_f64());
        if !success {
            self.record(&RETRIES, 1.0);
        }
    }

    pub(crate) fn depth(&self, keys: usize) {
        self.0.apply([Measurement::of_count(&DEPTH, &[], keys)]);
    }

    /// The keys that are handed out, each with for how long.
    pub(crate) fn running(&self, keys: impl Iterator<Item = Duration>) {
        let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
        for duration in keys {
            sum += duration;
            longest = longest.max(duration);
        }
        self.record(&UNFINISHED, sum.as_secs_f64());
        self.record(&LONGEST_RUNNING, longest.as_secs_f64());
    }
}
