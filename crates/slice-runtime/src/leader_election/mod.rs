//! Leader election: several instances run, and at most one of them writes.
//!
//! * `elector/` decides, as a pure state machine: which request about the lease is next, and until when this instance leads.
//! * `candidate.rs` is the task that sends these requests.
//! * `leadership.rs` is what the others see of it: the runner, the reflectors and the client of writes.
//! * `clock.rs` is the clock.
//!
//! Why not a library, and what is safe under which conditions: `docs/decisions/leader-election.md`.

mod candidate;
mod clock;
mod elector;
mod leadership;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

pub(crate) use candidate::{Candidacy, LEADER_ELECTION};
pub(crate) use clock::LeaseClock;
pub use clock::LeaseTime;
pub use elector::{Elector, Step, Term};
pub(crate) use leadership::Leadership;
#[cfg(feature = "simulation")]
pub(crate) use leadership::Published;

/// Leader election by a Lease, compatible with client-go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease. Instances with the same one elect a leader among them.
    pub name: String,
    /// The identity of this instance. It must be unique.
    pub identity: String,
    /// How long others wait after the last renewal before they take over.
    pub lease_duration: Duration,
    /// How long the leader acts after the last renewal: less than the lease duration.
    pub renew_deadline: Duration,
    /// The time between two attempts to acquire or renew the lease.
    pub retry_period: Duration,
}

impl LeaderElection {
    /// A lease in `kube-system` with the durations of kube-controller-manager.
    #[must_use]
    pub fn new(name: &str, identity: &str) -> Self {
        Self {
            namespace: "kube-system".to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl fmt::Display for LeaderElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
