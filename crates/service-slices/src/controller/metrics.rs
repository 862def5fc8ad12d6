//! What upstream's controller measures, under the same names (service-slices.md §19).

use std::collections::HashMap;

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, exponential_buckets,
    register_gauge_vec_with_registry as register_gauges, register_gauge_with_registry as register_gauge,
    register_histogram_vec_with_registry as register_histograms,
    register_histogram_with_registry as register_histogram,
    register_int_counter_vec_with_registry as register_counters,
};
use slice_controller::{Key, WriteCounts};
use slice_reconciler::{Plan, Summary};

use crate::METRICS_SUBSYSTEM;

/// The controller's metrics.
#[derive(Debug)]
pub(super) struct Metrics {
    added: Histogram,
    removed: Histogram,
    endpoints_desired: Gauge,
    slices: Gauge,
    slices_desired: Gauge,
    changes: IntCounterVec,
    changed_per_sync: HistogramVec,
    written_per_sync: Histogram,
    syncs: IntCounterVec,
    by_traffic_distribution: GaugeVec,
    services: HashMap<Key, Counted>,
}

/// What one Service adds to the gauges.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    endpoints: usize,
    slices: usize,
    slices_desired: usize,
    traffic_distribution: Option<&'static str>,
}

impl Metrics {
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let opts = |name: &str, help: &str| Opts::new(name, help).subsystem(METRICS_SUBSYSTEM);
        let per_sync = |name: &str, help: &str| -> Result<Histogram, prometheus::Error> {
            let opts = HistogramOpts::from(opts(name, help)).buckets(exponential_buckets(2.0, 2.0, 15)?);
            register_histogram!(opts, registry)
        };
        let gauge = |name: &str, help: &str| register_gauge!(opts(name, help), registry);
        Ok(Self {
            added: per_sync(
                "endpoints_added_per_sync",
                "[BETA] Number of endpoints added on each Service sync",
            )?,
            removed: per_sync(
                "endpoints_removed_per_sync",
                "[BETA] Number of endpoints removed on each Service sync",
            )?,
            endpoints_desired: gauge("endpoints_desired", "[BETA] Number of endpoints desired")?,
            slices: gauge("num_endpoint_slices", "[BETA] Number of EndpointSlices")?,
            slices_desired: gauge(
                "desired_endpoint_slices",
                "[BETA] Number of EndpointSlices that would exist with perfect endpoint allocation",
            )?,
            changes: register_counters!(
                opts("changes", "[ALPHA] Number of EndpointSlice changes"),
                &["operation"],
                registry
            )?,
            changed_per_sync: register_histograms!(
                HistogramOpts::from(opts(
                    "endpointslices_changed_per_sync",
                    "[ALPHA] Number of EndpointSlices changed on each Service sync",
                )),
                &["topology", "traffic_distribution"],
                registry
            )?,
            written_per_sync: per_sync(
                "endpointslices_written_per_sync",
                "Number of EndpointSlices changed on each Service sync, in buckets for numbers",
            )?,
            syncs: register_counters!(
                opts("syncs", "[ALPHA] Number of EndpointSlice syncs"),
                &["result"],
                registry
            )?,
            by_traffic_distribution: register_gauges!(
                opts(
                    "services_count_by_traffic_distribution",
                    "[BETA] Number of Services using some specific trafficDistribution",
                ),
                &["traffic_distribution"],
                registry
            )?,
            services: HashMap::new(),
        })
    }

    /// A plan was made for a Service (R55 steps 6 and 7); each address type counts (W5).
    pub(super) fn planned(&mut self, key: &Key, plan: &Plan, traffic_distribution: Option<&'static str>) {
        let mut counted = Counted {
            traffic_distribution,
            ..Counted::default()
        };
        for Summary {
            changes,
            endpoints,
            slices,
            slices_needed,
            ..
        } in &plan.summaries
        {
            self.added.observe(number(changes.added));
            self.removed.observe(number(changes.removed));
            counted.endpoints += endpoints;
            counted.slices += slices;
            counted.slices_desired += slices_needed;
        }
        self.count(key, Some(counted));
    }

    /// A Service is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.count(key, None);
    }

    /// A sync ended (R51), with these writes (R107).
    pub(super) fn synced(&self, success: bool, writes: WriteCounts) {
        self.syncs
            .with_label_values(&[if success { "success" } else { "error" }])
            .inc();
        for (operation, count) in [
            ("create", writes.created),
            ("update", writes.updated),
            ("delete", writes.deleted),
        ] {
            if count > 0 {
                self.changes.with_label_values(&[operation]).inc_by(count as u64);
            }
        }
    }

    /// All writes of one address type succeeded (R108). The first histogram has upstream's buckets, which are for seconds (W21).
    pub(super) fn changed(&self, (topology, traffic_distribution): (&str, &str), slices: usize) {
        self.changed_per_sync
            .with_label_values(&[topology, traffic_distribution])
            .observe(number(slices));
        self.written_per_sync.observe(number(slices));
    }

    /// Replaces what a Service adds to the gauges.
    fn count(&mut self, key: &Key, now: Option<Counted>) {
        let before = match now {
            Some(now) => self.services.insert(key.clone(), now),
            None => self.services.remove(key),
        };
        let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
        self.endpoints_desired
            .add(number(now.endpoints) - number(before.endpoints));
        self.slices.add(number(now.slices) - number(before.slices));
        self.slices_desired
            .add(number(now.slices_desired) - number(before.slices_desired));
        if before.traffic_distribution != now.traffic_distribution {
            for (value, change) in [(before.traffic_distribution, -1.0), (now.traffic_distribution, 1.0)] {
                if let Some(value) = value {
                    self.by_traffic_distribution.with_label_values(&[value]).add(change);
                }
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has so many that it would show")]
fn number(count: usize) -> f64 {
    count as f64
}
