//! Upstream's metrics, under the same names (mirroring.md §14).

use std::time::Duration;

use slice_controller::{
    GaugeSums, Key, Measurement, Measurements, MetricKind, MetricSpec, SyncOutcome, exponential_buckets,
};
use slice_reconciler::{EndpointCounts, Plan};

/// All metrics of the controller.
pub(super) static METRICS: [&MetricSpec; 9] = [
    &ENDPOINTS_ADDED,
    &ENDPOINTS_UPDATED,
    &ENDPOINTS_REMOVED,
    &ADDRESSES_SKIPPED,
    &SYNC_DURATION,
    &ENDPOINTS_DESIRED,
    &SLICES,
    &SLICES_DESIRED,
    &CHANGES,
];

/// Histogram of endpoint counts.
const PER_SYNC: MetricKind = MetricKind::Histogram {
    buckets: &exponential_buckets::<15>(2.0, 2.0),
};

static ENDPOINTS_ADDED: MetricSpec = MetricSpec {
    name: "endpoints_added_per_sync",
    help: "[ALPHA] Number of endpoints added on each Endpoints sync",
    kind: PER_SYNC,
    labels: &[],
};
static ENDPOINTS_UPDATED: MetricSpec = MetricSpec {
    name: "endpoints_updated_per_sync",
    help: "[ALPHA] Number of endpoints updated on each Endpoints sync",
    kind: PER_SYNC,
    labels: &[],
};
static ENDPOINTS_REMOVED: MetricSpec = MetricSpec {
    name: "endpoints_removed_per_sync",
    help: "[ALPHA] Number of endpoints removed on each Endpoints sync",
    kind: PER_SYNC,
    labels: &[],
};
static ADDRESSES_SKIPPED: MetricSpec = MetricSpec {
    name: "addresses_skipped_per_sync",
    help: "[ALPHA] Number of addresses skipped on each Endpoints sync due to being invalid or exceeding \
           MaxEndpointsPerSubset",
    kind: PER_SYNC,
    labels: &[],
};
static SYNC_DURATION: MetricSpec = MetricSpec {
    name: "endpoints_sync_duration",
    help: "[ALPHA] Duration of syncEndpoints() in seconds",
    kind: MetricKind::Histogram {
        buckets: &exponential_buckets::<15>(0.001, 2.0),
    },
    labels: &[],
};
static ENDPOINTS_DESIRED: MetricSpec = MetricSpec {
    name: "endpoints_desired",
    help: "[ALPHA] Number of endpoints desired",
    kind: MetricKind::Gauge,
    labels: &[],
};
static SLICES: MetricSpec = MetricSpec {
    name: "num_endpoint_slices",
    help: "[ALPHA] Number of EndpointSlices",
    kind: MetricKind::Gauge,
    labels: &[],
};
static SLICES_DESIRED: MetricSpec = MetricSpec {
    name: "desired_endpoint_slices",
    help: "[ALPHA] Number of EndpointSlices that would exist with perfect endpoint allocation",
    kind: MetricKind::Gauge,
    labels: &[],
};
static CHANGES: MetricSpec = MetricSpec {
    name: "changes",
    help: "[ALPHA] Number of EndpointSlice changes",
    kind: MetricKind::Counter,
    labels: &["operation"],
};

/// Recorded metrics of the controller.
#[derive(Debug)]
pub(super) struct Metrics {
    measurements: Measurements,
    /// Gauges as sums over all objects (D7).
    gauges: GaugeSums<3>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self {
            measurements: Measurements::default(),
            gauges: GaugeSums::new([(&ENDPOINTS_DESIRED, &[]), (&SLICES, &[]), (&SLICES_DESIRED, &[])]),
        }
    }

    pub(super) fn take(&mut self) -> Vec<Measurement> {
        self.measurements.take()
    }

    /// Records the plan for an object (M121–M124).
    pub(super) fn record_plan(&mut self, key: &Key, plan: &Plan, skipped: usize) {
        let mut changes = EndpointCounts::default();
        let [mut desired, mut slices, mut min_slices] = [0; 3];
        for stats in &plan.stats {
            changes += stats.changes;
            desired += stats.desired_endpoints;
            slices += stats.slices;
            min_slices += stats.min_slices;
        }
        for (metric, count) in [
            (&ENDPOINTS_ADDED, changes.added),
            (&ENDPOINTS_UPDATED, changes.changed),
            (&ENDPOINTS_REMOVED, changes.removed),
            (&ADDRESSES_SKIPPED, skipped),
        ] {
            self.measurements.record_count(metric, &[], count);
        }
        self.gauges
            .replace(key, Some([desired, slices, min_slices]), &mut self.measurements);
    }

    /// Removes an object from the gauges, because it is not mirrored (M108).
    pub(super) fn remove(&mut self, key: &Key) {
        self.gauges.replace(key, None, &mut self.measurements);
    }

    /// Records the result of a sync (M104, M122). Deletions by cleanup count as changes too (D11).
    pub(super) fn record_sync(&mut self, outcome: &SyncOutcome) {
        let duration = outcome.duration;
        let milliseconds = Duration::new(duration.as_secs(), duration.subsec_millis() * 1_000_000);
        self.measurements
            .record(&SYNC_DURATION, &[], milliseconds.as_secs_f64());
        for (operation, count) in outcome.writes.by_operation() {
            if count > 0 {
                self.measurements.record_count(&CHANGES, &[operation], count);
            }
        }
    }
}
