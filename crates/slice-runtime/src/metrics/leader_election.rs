//! The metric of leader election, with the name that all programs of Kubernetes have.

use std::sync::OnceLock;

use slice_controller::{Measurement, MetricKind, MetricSpec};

use super::exposition::Exposition;

/// The prefix of the name.
pub(super) const PREFIX: &str = "leader_election";

pub(super) static LEADER_ELECTION_METRICS: [&MetricSpec; 1] = [&MASTER_STATUS];

static MASTER_STATUS: MetricSpec = MetricSpec {
    name: "master_status",
    help: "Whether this instance leads (1) or stands by (0), with the name of the lease; missing without leader election",
    kind: MetricKind::Gauge,
    labels: &[],
};

/// The metric of leader election, once the lease is known.
#[derive(Debug, Default)]
pub(super) struct LeaderElectionMetrics(OnceLock<Exposition>);

impl LeaderElectionMetrics {
    pub(super) fn write(&self, page: &mut String) {
        if let Some(exposition) = self.0.get() {
            exposition.write(page);
        }
    }

    pub(super) fn set(&self, lease: &str, leads: bool) {
        let exposition = self.0.get_or_init(|| {
            let exposition = Exposition::new(PREFIX, [("name", lease.to_owned().into())]);
            exposition.register(&LEADER_ELECTION_METRICS);
            exposition
        });
        exposition.apply([Measurement::new(&MASTER_STATUS, &[], f64::from(u8::from(leads)))]);
    }
}
