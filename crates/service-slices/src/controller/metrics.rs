//! Metrics of the controller: upstream's, under the same names (service-slices.md §19), and one of our own.

use slice_controller::{
    DEFAULT_BUCKETS, GaugeSums, Key, Measurement, Measurements, MetricKind, MetricSpec, WriteCounts,
    exponential_buckets,
};
use slice_reconciler::{Plan, PlanStats, hints::TrafficDistribution};

/// All metrics.
pub(super) static METRICS: [&MetricSpec; 10] = [
    &ENDPOINTS_ADDED,
    &ENDPOINTS_REMOVED,
    &ENDPOINTS_DESIRED,
    &SLICES,
    &SLICES_DESIRED,
    &CHANGES,
    &SLICES_CHANGED,
    &SLICES_WRITTEN,
    &SYNCS,
    &BY_TRAFFIC_DISTRIBUTION,
];

/// Histogram for numbers of endpoints or slices.
const PER_SYNC: MetricKind = MetricKind::Histogram {
    buckets: &exponential_buckets::<15>(2.0, 2.0),
};

static ENDPOINTS_ADDED: MetricSpec = MetricSpec {
    name: "endpoints_added_per_sync",
    help: "[BETA] Number of endpoints added on each Service sync",
    kind: PER_SYNC,
    labels: &[],
};
static ENDPOINTS_REMOVED: MetricSpec = MetricSpec {
    name: "endpoints_removed_per_sync",
    help: "[BETA] Number of endpoints removed on each Service sync",
    kind: PER_SYNC,
    labels: &[],
};
static ENDPOINTS_DESIRED: MetricSpec = MetricSpec {
    name: "endpoints_desired",
    help: "[BETA] Number of endpoints desired",
    kind: MetricKind::Gauge,
    labels: &[],
};
static SLICES: MetricSpec = MetricSpec {
    name: "num_endpoint_slices",
    help: "[BETA] Number of EndpointSlices",
    kind: MetricKind::Gauge,
    labels: &[],
};
static SLICES_DESIRED: MetricSpec = MetricSpec {
    name: "desired_endpoint_slices",
    help: "[BETA] Number of EndpointSlices that would exist with perfect endpoint allocation",
    kind: MetricKind::Gauge,
    labels: &[],
};
static CHANGES: MetricSpec = MetricSpec {
    name: "changes",
    help: "[ALPHA] Number of EndpointSlice changes",
    kind: MetricKind::Counter,
    labels: &["operation"],
};
/// Has upstream's buckets, which suit seconds and not counts; see [`SLICES_WRITTEN`] (W21).
static SLICES_CHANGED: MetricSpec = MetricSpec {
    name: "endpointslices_changed_per_sync",
    help: "[ALPHA] Number of EndpointSlices changed on each Service sync",
    kind: MetricKind::Histogram {
        buckets: &DEFAULT_BUCKETS,
    },
    labels: &["topology", "traffic_distribution"],
};
static SLICES_WRITTEN: MetricSpec = MetricSpec {
    name: "endpointslices_written_per_sync",
    help: "Number of EndpointSlices changed on each Service sync, in buckets for numbers",
    kind: PER_SYNC,
    labels: &[],
};
static SYNCS: MetricSpec = MetricSpec {
    name: "syncs",
    help: "[ALPHA] Number of EndpointSlice syncs",
    kind: MetricKind::Counter,
    labels: &["result"],
};
static BY_TRAFFIC_DISTRIBUTION: MetricSpec = MetricSpec {
    name: "services_count_by_traffic_distribution",
    help: "[BETA] Number of Services using some specific trafficDistribution",
    kind: MetricKind::Gauge,
    labels: &["traffic_distribution"],
};

/// The controller's metrics.
#[derive(Debug)]
pub(super) struct Metrics {
    measurements: Measurements,
    gauges: GaugeSums<6>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self {
            measurements: Measurements::default(),
            gauges: GaugeSums::new([
                (&ENDPOINTS_DESIRED, &[]),
                (&SLICES, &[]),
                (&SLICES_DESIRED, &[]),
                (&BY_TRAFFIC_DISTRIBUTION, &["PreferClose"]),
                (&BY_TRAFFIC_DISTRIBUTION, &["PreferSameZone"]),
                (&BY_TRAFFIC_DISTRIBUTION, &["PreferSameNode"]),
            ]),
        }
    }

    /// Takes the measurements since the last call.
    pub(super) fn take(&mut self) -> Vec<Measurement> {
        self.measurements.take()
    }

    /// Records the plan for a Service (R55 steps 6 and 7); each address type counts (W5).
    pub(super) fn record_plan(&mut self, key: &Key, plan: &Plan, traffic_distribution: Option<TrafficDistribution>) {
        let (mut desired, mut existing, mut needed) = (0, 0, 0);
        for PlanStats {
            changes,
            desired_endpoints: endpoints,
            slices,
            min_slices: slices_needed,
            ..
        } in &plan.stats
        {
            self.measurements.record_count(&ENDPOINTS_ADDED, &[], changes.added);
            self.measurements.record_count(&ENDPOINTS_REMOVED, &[], changes.removed);
            desired += endpoints;
            existing += slices;
            needed += slices_needed;
        }
        let [close, zone, node] = match traffic_distribution {
            None => [0, 0, 0],
            Some(TrafficDistribution::PreferClose) => [1, 0, 0],
            Some(TrafficDistribution::PreferSameZone) => [0, 1, 0],
            Some(TrafficDistribution::PreferSameNode) => [0, 0, 1],
        };
        let contribution = [desired, existing, needed, close, zone, node];
        self.gauges.replace(key, Some(contribution), &mut self.measurements);
    }

    /// Removes a Service from the gauges.
    pub(super) fn forget(&mut self, key: &Key) {
        self.gauges.replace(key, None, &mut self.measurements);
    }

    /// Records the end of a sync (R51) and its writes (R107).
    pub(super) fn record_sync(&mut self, success: bool, writes: WriteCounts) {
        let result = if success { "success" } else { "error" };
        self.measurements.record_count(&SYNCS, &[result], 1);
        for (operation, count) in writes.by_operation() {
            if count > 0 {
                self.measurements.record_count(&CHANGES, &[operation], count);
            }
        }
    }

    /// Records the slices written for one address type, if all writes succeeded (R108).
    pub(super) fn record_changes(
        &mut self,
        (topology, traffic_distribution): (&'static str, &'static str),
        slices: usize,
    ) {
        self.measurements
            .record_count(&SLICES_CHANGED, &[topology, traffic_distribution], slices);
        self.measurements.record_count(&SLICES_WRITTEN, &[], slices);
    }
}
