//! What upstream's controller measures, under the same names (mirroring.md §14).

use std::{collections::HashMap, time::Duration};

use prometheus::{
    Gauge, Histogram, HistogramOpts, IntCounterVec, Opts, Registry, exponential_buckets,
    register_gauge_with_registry as register_gauge, register_histogram_with_registry as register_histogram,
    register_int_counter_vec_with_registry as register_counters,
};
use slice_controller::{Key, SyncOutcome};
use slice_reconciler::{Changes, Plan};

use crate::METRICS_SUBSYSTEM;

/// The controller's metrics.
#[derive(Debug)]
pub(super) struct Metrics {
    added: Histogram,
    updated: Histogram,
    removed: Histogram,
    skipped: Histogram,
    duration: Histogram,
    endpoints_desired: Gauge,
    slices: Gauge,
    slices_desired: Gauge,
    changes: IntCounterVec,
    /// Kept so that the gauges are never summed up anew (D7).
    objects: HashMap<Key, Counted>,
}

/// What one Endpoints object adds to the gauges.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    endpoints: usize,
    slices: usize,
    slices_desired: usize,
}

impl Metrics {
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let opts = |name: &str, help: &str| Opts::new(name, format!("[ALPHA] {help}")).subsystem(METRICS_SUBSYSTEM);
        let histogram = |name: &str, help: &str, buckets: Vec<f64>| {
            register_histogram!(HistogramOpts::from(opts(name, help)).buckets(buckets), registry)
        };
        let per_sync = |name: &str, help: &str| {
            let help = format!("Number of {help}");
            histogram(name, &help, exponential_buckets(2.0, 2.0, 15)?)
        };
        let gauge = |name: &str, help: &str| register_gauge!(opts(name, help), registry);
        Ok(Self {
            added: per_sync("endpoints_added_per_sync", "endpoints added on each Endpoints sync")?,
            updated: per_sync("endpoints_updated_per_sync", "endpoints updated on each Endpoints sync")?,
            removed: per_sync("endpoints_removed_per_sync", "endpoints removed on each Endpoints sync")?,
            skipped: per_sync(
                "addresses_skipped_per_sync",
                "addresses skipped on each Endpoints sync due to being invalid or exceeding MaxEndpointsPerSubset",
            )?,
            duration: histogram(
                "endpoints_sync_duration",
                "Duration of syncEndpoints() in seconds",
                exponential_buckets(0.001, 2.0, 15)?,
            )?,
            endpoints_desired: gauge("endpoints_desired", "Number of endpoints desired")?,
            slices: gauge("num_endpoint_slices", "Number of EndpointSlices")?,
            slices_desired: gauge(
                "desired_endpoint_slices",
                "Number of EndpointSlices that would exist with perfect endpoint allocation",
            )?,
            changes: register_counters!(
                opts("changes", "Number of EndpointSlice changes"),
                &["operation"],
                registry
            )?,
            objects: HashMap::new(),
        })
    }

    /// A plan was made for an object (M121–M124).
    pub(super) fn planned(&mut self, key: &Key, plan: &Plan, skipped: usize) {
        let mut changes = Changes::default();
        let mut counted = Counted::default();
        for summary in &plan.summaries {
            changes += summary.changes;
            counted.endpoints += summary.endpoints;
            counted.slices += summary.slices;
            counted.slices_desired += summary.slices_needed;
        }
        self.added.observe(number(changes.added));
        self.updated.observe(number(changes.changed));
        self.removed.observe(number(changes.removed));
        self.skipped.observe(number(skipped));
        self.count(key, Some(counted));
    }

    /// An object is not mirrored, or no longer (M108).
    pub(super) fn forget(&mut self, key: &Key) {
        self.count(key, None);
    }

    /// A sync ended (M104, M122). Slices that were cleaned up count as well (D11).
    pub(super) fn finished(&self, outcome: &SyncOutcome) {
        let took = outcome.duration;
        let milliseconds = Duration::new(took.as_secs(), took.subsec_millis() * 1_000_000);
        self.duration.observe(milliseconds.as_secs_f64());
        let writes = outcome.writes;
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

    /// Replaces what an object adds to the gauges.
    fn count(&mut self, key: &Key, now: Option<Counted>) {
        let before = match now {
            Some(now) => self.objects.insert(key.clone(), now),
            None => self.objects.remove(key),
        };
        let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
        for (gauge, before, now) in [
            (&self.endpoints_desired, before.endpoints, now.endpoints),
            (&self.slices, before.slices, now.slices),
            (&self.slices_desired, before.slices_desired, now.slices_desired),
        ] {
            gauge.add(number(now) - number(before));
        }
    }
}

/// Nobody has so many that it would show.
fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
