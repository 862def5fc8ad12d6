//! The flags of leader election, as in kube-controller-manager.

use std::time::Duration;

use clap::{Args, builder::BoolishValueParser};

use super::{ConfigErrors, GoDuration};
use crate::leader_election::LeaderElection;

/// client-go requires that the renew deadline is longer than this many retry periods.
const RETRY_PERIODS: f64 = 1.2;

/// The flags of leader election.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(in crate::program) struct LeaderElectionArgs {
    /// Run only if this instance is the leader among those with the same Lease. Else it stands by, with its caches up to date.
    /// Without it, never run two instances. A dry run needs no Lease
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, value_parser = BoolishValueParser::new(),
          num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true")]
    leader_elect: bool,
    /// How long standbys wait after the last renewal of the Lease before they take over
    #[arg(long, value_name = "DURATION", default_value = "15s", allow_hyphen_values = true)]
    leader_elect_lease_duration: GoDuration,
    /// How long the leader writes after the last renewal. Less than the lease duration
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true)]
    leader_elect_renew_deadline: GoDuration,
    /// Time between two attempts to acquire or renew the Lease
    #[arg(long, value_name = "DURATION", default_value = "2s", allow_hyphen_values = true)]
    leader_elect_retry_period: GoDuration,
    /// The type of the lock. Only leases are supported
    #[arg(long, value_name = "TYPE", default_value = "leases")]
    leader_elect_resource_lock: String,
    /// The name of the Lease. Not that of kube-controller-manager: one of the two programs would never lead
    #[arg(long, value_name = "NAME", required = false)]
    leader_elect_resource_name: String,
    /// The namespace of the Lease
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    leader_elect_resource_namespace: String,
}

impl LeaderElectionArgs {
    /// The lease; none without leader election.
    pub(in crate::program) fn lease(&self, identity: impl FnOnce() -> String) -> Option<LeaderElection> {
        self.leader_elect.then(|| LeaderElection {
            namespace: self.leader_elect_resource_namespace.clone(),
            name: self.leader_elect_resource_name.clone(),
            identity: identity(),
            lease_duration: self.leader_elect_lease_duration.as_duration(),
            renew_deadline: self.leader_elect_renew_deadline.as_duration(),
            retry_period: self.leader_elect_retry_period.as_duration(),
        })
    }

    /// Validates the flags (A.2).
    pub(super) fn check(&self, errors: &mut ConfigErrors) {
        if !self.leader_elect {
            return;
        }
        let durations = [
            ("lease-duration", &self.leader_elect_lease_duration),
            ("renew-deadline", &self.leader_elect_renew_deadline),
            ("retry-period", &self.leader_elect_retry_period),
        ];
        for (name, duration) in durations {
            if duration.as_duration().is_zero() {
                errors.add(&format!("leader-elect-{name} must be greater than zero"));
            }
        }
        let [lease, renew, retry]: [Duration; 3] = durations.map(|(_, duration)| duration.as_duration());
        if lease <= renew {
            errors.add(&"leader-elect-lease-duration must be greater than leader-elect-renew-deadline");
        }
        if renew <= retry.mul_f64(RETRY_PERIODS) {
            errors.add(&"leader-elect-renew-deadline must be greater than 1.2 times leader-elect-retry-period");
        }
        if self.leader_elect_resource_lock != "leases" {
            errors.add(&format!(
                "leader-elect-resource-lock must be leases, but got {:?}",
                self.leader_elect_resource_lock
            ));
        }
        for (name, value) in [
            ("name", &self.leader_elect_resource_name),
            ("namespace", &self.leader_elect_resource_namespace),
        ] {
            if value.is_empty() {
                errors.add(&format!("leader-elect-resource-{name} must not be empty"));
            }
        }
    }
}
