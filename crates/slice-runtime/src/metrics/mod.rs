//! The metrics of a program: of its work queue, of the runtime and of its controller.

mod exposition;
mod leader_election;
mod process;
mod requests;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use slice_controller::{Measurement, MetricKind, MetricSpec, exponential_buckets};

use crate::{admission::AdmissionState, events::DropReason, health::Health};
use exposition::Exposition;
pub(crate) use exposition::TEXT_FORMAT;
use leader_election::LeaderElectionMetrics;
use process::{PROCESS_METRICS, ProcessMetrics};
use requests::RequestMetrics;

/// The metrics of the runtime.
static METRICS: [&MetricSpec; 20] = [
    &BUILD_INFO,
    &CHANGE_TO_WRITE,
    &KEYS_FAILING,
    &OLDEST_FAILING_KEY,
    &WATCH_LAST_ACTIVITY,
    &WATCH_POSITION_AGE,
    &WATCH_FAILING,
    &WATCHES_OPENED,
    &LISTS,
    &UNCONFIRMED_RELISTS,
    &EVENTS_DROPPED,
    &OBJECTS_SKIPPED,
    &CONCURRENCY_LIMIT,
    &SLOTS_IN_USE,
    &GATE_CLOSED,
    &GATE_CLOSED_TOTAL,
    &SYNC_RETRIES,
    &FOREIGN_CHANGES,
    &DRY_RUN_DIFFERENCES,
    &LOG_LINES_DROPPED,
];

static CHANGE_TO_WRITE: MetricSpec = MetricSpec {
    name: "change_to_write_seconds",
    help: "Time from a change in the cluster until all slices that it concerns were written, including a batch period and failed attempts",
    kind: MetricKind::Histogram {
        buckets: &exponential_buckets::<16>(0.001, 2.0),
    },
    labels: &[],
};
static KEYS_FAILING: MetricSpec = MetricSpec {
    name: "keys_failing",
    help: "Number of owners of slices whose last sync failed; 0 on a standby",
    kind: MetricKind::Gauge,
    labels: &[],
};
static OLDEST_FAILING_KEY: MetricSpec = MetricSpec {
    name: "oldest_failing_key_seconds",
    help: "Time since the owner of slices that has been failing longest started to fail, or since this instance leads; 0 on a \
           standby",
    kind: MetricKind::Gauge,
    labels: &[],
};
static WATCH_LAST_ACTIVITY: MetricSpec = MetricSpec {
    name: "watch_last_activity_seconds",
    help: "Time since the last response or event of the API server for a resource",
    kind: MetricKind::Gauge,
    labels: &["resource"],
};
static WATCH_FAILING: MetricSpec = MetricSpec {
    name: "watch_failing_seconds",
    help: "Time since the list or watch of a resource began to fail; 0 if it works",
    kind: MetricKind::Gauge,
    labels: &["resource"],
};
static WATCH_POSITION_AGE: MetricSpec = MetricSpec {
    name: "watch_position_age_seconds",
    help: "Time since an event, a bookmark or a list last advanced the resourceVersion of a watch",
    kind: MetricKind::Gauge,
    labels: &["resource"],
};
static WATCHES_OPENED: MetricSpec = MetricSpec {
    name: "watches_opened_total",
    help: "Number of watches that were opened",
    kind: MetricKind::Counter,
    labels: &["resource"],
};
static LISTS: MetricSpec = MetricSpec {
    name: "lists_total",
    help: "Number of lists that were started, by reason: initial, expired (410 Gone), failed (the watch kept failing), \
           absent (the resource was not served), epoch (resourceVersions went back), confirmation (of another list)",
    kind: MetricKind::Counter,
    labels: &["resource", "reason"],
};
static UNCONFIRMED_RELISTS: MetricSpec = MetricSpec {
    name: "unconfirmed_relists_total",
    help: "Number of lists whose deletions waited for a second list because they would have removed most endpoints",
    kind: MetricKind::Counter,
    labels: &[],
};
static EVENTS_DROPPED: MetricSpec = MetricSpec {
    name: "events_dropped_total",
    help: "Number of events that were not recorded: too many of one object (spam) or of all (global), a full channel, or a failed \
           request",
    kind: MetricKind::Counter,
    labels: &["reason"],
};
static OBJECTS_SKIPPED: MetricSpec = MetricSpec {
    name: "objects_skipped_total",
    help: "Number of watched objects that were skipped because they could not be decoded",
    kind: MetricKind::Counter,
    labels: &["resource"],
};

static CONCURRENCY_LIMIT: MetricSpec = MetricSpec {
    name: "concurrency_limit",
    help: "Number of owners of slices that may have writes in flight now; lowered while the API server is overloaded",
    kind: MetricKind::Gauge,
    labels: &[],
};
static SLOTS_IN_USE: MetricSpec = MetricSpec {
    name: "slots_in_use",
    help: "Number of owners of slices with writes in flight: active ones, and stalled ones that gave their slots up",
    kind: MetricKind::Gauge,
    labels: &["state"],
};
static GATE_CLOSED: MetricSpec = MetricSpec {
    name: "gate_closed_seconds",
    help: "Time until writes are admitted again after the API server rejected requests; 0 if they are admitted",
    kind: MetricKind::Gauge,
    labels: &[],
};
static GATE_CLOSED_TOTAL: MetricSpec = MetricSpec {
    name: "gate_closed_total",
    help: "Number of times that writes were held back because the API server rejected requests",
    kind: MetricKind::Counter,
    labels: &[],
};
static BUILD_INFO: MetricSpec = MetricSpec {
    name: "build_info",
    help: "A constant 1 with the version of the program",
    kind: MetricKind::Gauge,
    labels: &["version"],
};
static FOREIGN_CHANGES: MetricSpec = MetricSpec {
    name: "foreign_changes_total",
    help: "Number of times that another client changed slices with our managed-by value; they are repaired. If it grows \
           steadily, another instance writes with the same value",
    kind: MetricKind::Counter,
    labels: &[],
};
static DRY_RUN_DIFFERENCES: MetricSpec = MetricSpec {
    name: "dry_run_differences",
    help: "Number of owners of slices for which a dry run would still write 30 s after the last change of its inputs",
    kind: MetricKind::Gauge,
    labels: &[],
};
static SYNC_RETRIES: MetricSpec = MetricSpec {
    name: "sync_retries_total",
    help: "Number of syncs that failed and are retried, by the reason of the failure",
    kind: MetricKind::Counter,
    labels: &["reason"],
};
static LOG_LINES_DROPPED: MetricSpec = MetricSpec {
    name: "log_lines_dropped_total",
    help: "Number of log lines that were dropped because standard error was not read fast enough",
    kind: MetricKind::Counter,
    labels: &[],
};

/// The metrics of a program. The controller registers its own.
#[derive(Debug)]
pub struct Metrics {
    pub(crate) queue: QueueMetrics,
    pub(crate) requests: RequestMetrics,
    controller: Exposition,
    process: ProcessMetrics,
    leader_election: LeaderElectionMetrics,
    /// The last total of dropped log lines.
    log_lines_dropped: AtomicUsize,
}

impl Metrics {
    /// Metrics whose names begin with `subsystem`, those of the work queue, with the label `name` of `queue`, and those of
    /// requests.
    #[must_use]
    pub fn new(subsystem: &str, queue: &'static str) -> Self {
        let metrics = Self {
            queue: QueueMetrics::new(queue),
            requests: RequestMetrics::new(),
            controller: Exposition::new(subsystem, []),
            process: ProcessMetrics::new(),
            leader_election: LeaderElectionMetrics::default(),
            log_lines_dropped: AtomicUsize::new(0),
        };
        metrics.register(&METRICS);
        // The series exist from the start, so that the first dropped event is an increase.
        for reason in DropReason::ALL {
            metrics.record(&EVENTS_DROPPED, &[reason.as_str()], 0.0);
        }
        metrics
    }

    /// Names and descriptions of the metrics that the runtime records for a program, for reference documentation.
    pub fn runtime_specs(subsystem: &str) -> impl Iterator<Item = (String, &'static MetricSpec)> {
        let named = |prefix: &str, spec: &'static MetricSpec| (format!("{prefix}_{}", spec.name), spec);
        let own = METRICS.iter().map(move |spec| named(subsystem, spec));
        let queue = QUEUE_METRICS.iter().map(move |spec| named("workqueue", spec));
        let requests = requests::REQUEST_METRICS.iter();
        let election = leader_election::LEADER_ELECTION_METRICS.iter();
        own.chain(queue)
            .chain(requests.map(move |spec| named(requests::PREFIX, spec)))
            .chain(PROCESS_METRICS.iter().map(move |spec| named("process", spec)))
            .chain(election.map(move |spec| named(leader_election::PREFIX, spec)))
    }

    /// All metrics in the text format of Prometheus.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = String::new();
        self.controller.write(&mut page);
        self.queue.0.write(&mut page);
        self.requests.write(&mut page);
        self.process.write(&mut page);
        self.leader_election.write(&mut page);
        page
    }

    /// Registers the metrics of the controller.
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

    /// Slices were written, with this latency after the change.
    pub(crate) fn written(&self, latency: Duration) {
        self.record(&CHANGE_TO_WRITE, &[], latency.as_secs_f64());
    }

    /// An event was dropped.
    pub(crate) fn event_dropped(&self, reason: DropReason) {
        self.record(&EVENTS_DROPPED, &[reason.as_str()], 1.0);
    }

    /// An object of a resource could not be decoded.
    pub(crate) fn object_skipped(&self, resource: &'static str) {
        self.record(&OBJECTS_SKIPPED, &[resource], 1.0);
    }

    /// A sync failed for this reason, if any, and is retried.
    pub(crate) fn sync_retried(&self, reason: Option<&'static str>) {
        if let Some(reason) = reason {
            self.record(&SYNC_RETRIES, &[reason], 1.0);
        }
    }

    /// The version of the program.
    pub(crate) fn build_info(&self, version: &'static str) {
        self.record(&BUILD_INFO, &[version], 1.0);
    }

    /// The total of log lines dropped so far.
    pub(crate) fn log_lines_dropped(&self, total: usize) {
        let before = self.log_lines_dropped.fetch_max(total, Ordering::Relaxed);
        let dropped = total.saturating_sub(before);
        self.apply(vec![Measurement::of_count(&LOG_LINES_DROPPED, &[], dropped)]);
    }

    /// A watch of a resource was opened.
    pub(crate) fn watch_opened(&self, resource: &'static str) {
        self.record(&WATCHES_OPENED, &[resource], 1.0);
    }

    /// A list of a resource was started.
    pub(crate) fn list_started(&self, resource: &'static str, reason: &'static str) {
        self.record(&LISTS, &[resource, reason], 1.0);
    }

    /// The deletions of a relist wait for a second list.
    pub(crate) fn relist_unconfirmed(&self) {
        self.record(&UNCONFIRMED_RELISTS, &[], 1.0);
    }

    /// The failing keys, each by the time since it started to fail.
    pub(crate) fn failing(&self, keys: impl Iterator<Item = Duration>) {
        let (mut count, mut longest) = (0, Duration::ZERO);
        for duration in keys {
            count += 1;
            longest = longest.max(duration);
        }
        self.apply(vec![Measurement::of_count(&KEYS_FAILING, &[], count)]);
        self.record(&OLDEST_FAILING_KEY, &[], longest.as_secs_f64());
    }

    /// Updates the gauges of admission.
    pub(crate) fn admission(&self, state: AdmissionState, now: Instant) {
        let closed = state.closed_until.map(|until| until.saturating_duration_since(now));
        self.apply(vec![
            Measurement::of_count(&CONCURRENCY_LIMIT, &[], state.limit),
            Measurement::of_count(&SLOTS_IN_USE, &["active"], state.slots_in_use),
            Measurement::of_count(&SLOTS_IN_USE, &["stalled"], state.stalled),
            Measurement::new(&GATE_CLOSED, &[], closed.unwrap_or_default().as_secs_f64()),
        ]);
    }

    /// Whether this instance stands by: it syncs nothing, so that the gauges of its keys, and those of the controller, would keep
    /// what its last term has left, or count what the leader does.
    pub(crate) fn standby(&self, standby: bool, controller: &'static [&'static MetricSpec]) {
        let own = [&KEYS_FAILING, &OLDEST_FAILING_KEY, &DRY_RUN_DIFFERENCES];
        let gauges = controller.iter().copied().chain(own);
        self.controller.zero(gauges.filter(|_| standby));
        self.queue.0.zero(standby.then_some(&DEPTH));
    }

    /// Whether this instance leads, by the lease with this name.
    pub(crate) fn leading(&self, lease: &str, leads: bool) {
        self.leader_election.set(lease, leads);
    }

    /// Another client changed a slice that has our managed-by value.
    pub(crate) fn foreign_change(&self) {
        self.record(&FOREIGN_CHANGES, &[], 1.0);
    }

    /// The number of keys that a dry run would still write.
    pub(crate) fn dry_run_differences(&self, keys: usize) {
        self.apply(vec![Measurement::of_count(&DRY_RUN_DIFFERENCES, &[], keys)]);
    }

    /// The gate was closed.
    pub(crate) fn gate_closed(&self) {
        self.record(&GATE_CLOSED_TOTAL, &[], 1.0);
    }

    /// Updates the gauges of watch activity.
    pub fn watches(&self, health: &Health) {
        let now = Instant::now();
        for (name, state) in health.watches() {
            if let Some(idle) = state.idle_for(now) {
                self.record(&WATCH_LAST_ACTIVITY, &[name], idle.as_secs_f64());
            }
            if let Some(age) = state.position_age(now) {
                self.record(&WATCH_POSITION_AGE, &[name], age.as_secs_f64());
            }
            self.record(&WATCH_FAILING, &[name], state.failing_for(now).as_secs_f64());
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
        let exposition = Exposition::new("workqueue", [("name", name.into())]);
        exposition.register(&QUEUE_METRICS);
        Self(exposition)
    }

    fn record(&self, metric: &'static MetricSpec, value: f64) {
        self.0.apply([Measurement::new(metric, &[], value)]);
    }

    /// A key was enqueued. With a delay it counts as a retry, as in client-go.
    pub(crate) fn added(&self, delay: Duration) {
        self.record(&ADDS, 1.0);
        if !delay.is_zero() {
            self.record(&RETRIES, 1.0);
        }
    }

    /// The sync of a key started after this time in the queue.
    pub(crate) fn started(&self, waited: Duration) {
        self.record(&QUEUE_DURATION, waited.as_secs_f64());
    }

    /// The sync of a key finished after this time.
    pub(crate) fn finished(&self, duration: Duration, success: bool) {
        self.record(&WORK_DURATION, duration.as_secs_f64());
        if !success {
            self.record(&RETRIES, 1.0);
        }
    }

    pub(crate) fn depth(&self, keys: usize) {
        self.0.apply([Measurement::of_count(&DEPTH, &[], keys)]);
    }

    /// The keys in processing, each by the time since its sync started.
    pub(crate) fn processing(&self, keys: impl Iterator<Item = Duration>) {
        let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
        for duration in keys {
            sum += duration;
            longest = longest.max(duration);
        }
        self.record(&UNFINISHED, sum.as_secs_f64());
        self.record(&LONGEST_RUNNING, longest.as_secs_f64());
    }
}
