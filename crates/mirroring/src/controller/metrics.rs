//! Upstream's metrics, under the same names (mirroring.md §14).

use std::time::Duration;

use slice_controller::{
    GaugeSums, Key, Measurement, Measurements, MetricKind, MetricSpec, SyncOutcome, exponential_buckets,
};
use slice_reconciler::{EndpointCounts, Plan};

/// All metrics.
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

/// For numbers of endpoints.
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

/// The controller's metrics.
#[derive(Debug)]
pub(super) struct Metrics {
    measurements: Measurements,
    /// D7.
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
        let [mut desired, mut existing, mut needed] = [0; 3];
        for summary in &plan.stats {
            changes += summary.changes;
            desired += summary.endpoints;
            existing += summary.slices;
            needed += summary.min_slices;
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
            .replace(key, Some([desired, existing, needed]), &mut self.measurements);
    }

    /// Removes an object from the gauges that is not mirrored, or no longer (M108).
    pub(super) fn forget(&mut self, key: &Key) {
        self.gauges.replace(key, None, &mut self.measurements);
    }

    /// Records the end of a sync (M104, M122). Slices that were cleaned up count as well (D11).
    pub(super) fn record_sync(&mut self, outcome: &SyncOutcome) {
        let took = outcome.duration;
        let milliseconds = Duration::new(took.as_secs(), took.subsec_millis() * 1_000_000);
        self.measurements
            .record(&SYNC_DURATION, &[], milliseconds.as_secs_f64());
        for (operation, count) in outcome.writes.by_operation() {
            if count > 0 {
                self.measurements.record_count(&CHANGES, &[operation], count);
            }
        }
    }
}
