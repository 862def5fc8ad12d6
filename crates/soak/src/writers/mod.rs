//! At most one writer: a replica sends writes of slices only while it holds the Lease of its program.

use std::time::Duration;

use apisim::request::Verb;
use http::StatusCode;
use tokio::time::Instant;

use crate::damage::ReplicaId;

/// Short times, so that the leader changes often.
pub(crate) const LEASE_FLAGS: [&str; 4] = [
    "--leader-elect=true",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2500ms",
    "--leader-elect-retry-period=500ms",
];
/// No write is sent later than the renew deadline, 2.5 s after the last renewal; the rest is for a proxy that receives it late.
const LEASE_DURATION: Duration = Duration::from_secs(4);
/// Requests that were sent before a freeze arrive within this time of its end, and those that a process sent before it was killed
/// within this time of the next start.
const SENT_BEFORE: Duration = Duration::from_secs(1);
/// A process can be stopped between its last check of the deadline and the request: at most so many at a time.
const SENT_WHEN_STOPPED_MAX: usize = 2;

/// What the proxy of a replica recorded, and what was done to the replica.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplicaRecord {
    pub(crate) starts: Vec<Instant>,
    /// When its process continued after SIGSTOP.
    pub(crate) process_continued: Vec<Instant>,
    /// When its connections continued.
    pub(crate) connections_continued: Vec<Instant>,
    pub(crate) lease_writes: Vec<LeaseWrite>,
    pub(crate) slice_writes: Vec<SliceWrite>,
}

/// A write of the Lease that the replica knows to have succeeded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseWrite {
    pub(crate) at: Instant,
    /// Acquired or renewed; otherwise released.
    pub(crate) holds: bool,
}

/// A request that writes a slice, successful or not.
#[derive(Clone, Debug)]
pub(crate) struct SliceWrite {
    pub(crate) at: Instant,
    pub(crate) verb: Verb,
    pub(crate) slice: String,
    pub(crate) status: Option<StatusCode>,
}

impl ReplicaRecord {
    /// Drops what later checks do not need.
    pub(crate) fn forget_writes(&mut self, now: Instant) {
        self.slice_writes.clear();
        self.process_continued.clear();
        self.connections_continued.clear();
        self.lease_writes
            .retain(|write| now.duration_since(write.at) < 4 * LEASE_DURATION);
        let earlier = self.starts.len().saturating_sub(1);
        self.starts.drain(..earlier);
    }
}

/// The slices that a replica wrote without the Lease, with a message each. The records are those of the replicas of one program.
pub(crate) fn check(records: &[(ReplicaId, &ReplicaRecord)]) -> Vec<(String, String)> {
    let mut violations = Vec::new();
    for (replica, record) in records {
        let mut sent_when_stopped = Vec::new();
        for write in &record.slice_writes {
            let others = records.iter().filter(|(other, _)| other != replica);
            let others = others.flat_map(|(_, other)| &other.lease_writes);
            let Some(reason) = without_lease(write.at, record, others) else {
                continue;
            };
            if last_before(&record.connections_continued, write.at).is_some_and(|at| write.at - at < SENT_BEFORE) {
                continue;
            }
            let continued = last_before(&record.process_continued, write.at);
            if let Some(continued) = continued.filter(|at| write.at - *at < SENT_BEFORE) {
                sent_when_stopped.push(continued);
                let of_this = sent_when_stopped.iter().filter(|at| **at == continued);
                if of_this.count() <= SENT_WHEN_STOPPED_MAX {
                    continue;
                }
            }
            let SliceWrite { verb, slice, .. } = write;
            violations.push((
                slice.clone(),
                format!("{replica} sent {verb:?} of {slice} without the lease: {reason}"),
            ));
        }
    }
    violations
}

/// Why a replica may not write at this time; `None` if it may.
fn without_lease<'a>(
    at: Instant,
    record: &ReplicaRecord,
    mut others: impl Iterator<Item = &'a LeaseWrite>,
) -> Option<String> {
    let start = record.starts.iter().filter(|start| **start + SENT_BEFORE <= at).max();
    let is_own = |own: &&LeaseWrite| own.at <= at && start.is_none_or(|start| own.at >= *start);
    let own = record.lease_writes.iter().filter(is_own);
    let Some(own) = own.max_by_key(|own| own.at) else {
        return Some("it has not acquired it since its start".to_owned());
    };
    if !own.holds {
        return Some(format!("it was released {:.1?} before", at - own.at));
    }
    if at - own.at > LEASE_DURATION {
        return Some(format!("it was renewed {:.1?} before", at - own.at));
    }
    others
        .find(|other| other.holds && other.at > own.at && other.at < at)
        .map(|other| format!("another replica acquired it {:.1?} before", at - other.at))
}

fn last_before(times: &[Instant], at: Instant) -> Option<Instant> {
    times.iter().copied().filter(|time| *time <= at).max()
}

#[cfg(test)]
mod tests;
