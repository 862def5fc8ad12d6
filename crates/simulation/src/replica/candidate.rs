//! The candidate of a replica: acquires, renews and releases its lease, as `slice-runtime/src/leader_election/candidate.rs` does.

use std::time::{Duration, Instant};

use fastrand::Rng;
use k8s_openapi::api::coordination::v1::Lease;
use slice_runtime::{
    leader_election::{Elector, LeaderElection, Step},
    simulation::SimulatedLeadership,
};

use super::Time;
use crate::{checks::leadership::Held, server::LeaseResponse};

pub(crate) struct Candidate {
    config: LeaderElection,
    elector: Elector,
    pub(crate) leadership: SimulatedLeadership,
    /// The last term whose writes have all ended.
    pub(crate) ended_term: u64,
    pub(crate) request: Option<LeaseRequest>,
    /// When requests of the leader are given up, unless the lease is renewed before.
    lost_at: Option<Instant>,
    random: Rng,
    /// When it last renewed the lease, for the checks.
    pub(crate) held: Option<Held>,
}

/// A request about the lease in flight.
#[derive(Debug)]
pub(crate) struct LeaseRequest {
    sent: Time,
    /// Whether it is given up when the term ends.
    is_of_leader: bool,
    pub(crate) response: Option<LeaseResponse>,
    /// What the checks know if it succeeds.
    held: Held,
}

impl Candidate {
    pub(super) fn new(name: &str, identity: &str) -> Self {
        let config = LeaderElection::new(name, identity);
        Self {
            elector: Elector::new(config.clone()),
            config,
            leadership: SimulatedLeadership::default(),
            ended_term: 0,
            request: None,
            lost_at: None,
            random: Rng::with_seed(0),
            held: None,
        }
    }

    /// As in client-go, two requests fit into the renew deadline.
    fn timeout(&self) -> Duration {
        self.config.renew_deadline / 2
    }

    fn publish(&mut self, time: Time) {
        self.elector.expire(time.lease);
        self.leadership.publish(&self.elector, time.lease);
        let remaining = self.leadership.remaining(time.lease);
        self.lost_at = remaining.map(|remaining| time.now + remaining);
    }

    /// The next request, if one is due.
    pub(crate) fn next_request(&mut self, time: Time) -> Option<Step> {
        if self.request.is_some() {
            return None;
        }
        self.publish(time);
        match self.elector.step(time.lease, time.wall) {
            Step::Wait(_) => None,
            _ if self.waits_for_writes(time) => None,
            step => Some(step),
        }
    }

    /// A request is sent.
    pub(crate) fn send(&mut self, response: Option<LeaseResponse>, held: Held, time: Time) {
        self.request = Some(LeaseRequest {
            sent: time,
            is_of_leader: self.elector.term(time.lease).is_some(),
            response,
            held,
        });
    }

    /// The response arrives, or the request is given up. Returns whether either is the case.
    pub(crate) fn receive(&mut self, time: Time) -> bool {
        let Some(request) = &self.request else { return false };
        let is_lost = request.is_of_leader && self.is_lost(time);
        let is_late = time.now.saturating_duration_since(request.sent.now) >= self.timeout();
        if !is_lost && !is_late && request.response.is_none() {
            return false;
        }
        let Some(request) = self.request.take() else {
            return false;
        };
        let random = self.random.f64();
        match request.response.filter(|_| !is_lost) {
            Some(LeaseResponse::Read(lease)) => self.elector.on_read(lease, time.lease, random),
            Some(LeaseResponse::Written(lease)) => {
                let (terms, holds) = (self.elector.terms(), self.holds(&lease));
                self.elector.on_written(lease, request.sent.lease, time.lease, random);
                let is_new = self.elector.terms() > terms;
                let before = self.held.take().filter(|_| !is_new);
                self.held = holds.then(|| Held {
                    renewed_at: request.held.renewed_at,
                    ..before.unwrap_or(request.held)
                });
            }
            Some(LeaseResponse::Failed) | None => self.elector.on_failed(time.lease, random),
        }
        self.publish(time);
        true
    }

    fn holds(&self, lease: &Lease) -> bool {
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        holder == Some(&self.config.identity)
    }

    /// Ends the term, and returns the released lease to write.
    pub(crate) fn release(&mut self, time: Time) -> Option<Lease> {
        let lease = self.elector.release(time.lease, time.wall);
        self.publish(time);
        lease
    }

    /// Whether responses to requests of the leader are not waited for any more. The timer counts, not the clock of leases.
    pub(crate) fn is_lost(&self, time: Time) -> bool {
        self.lost_at.is_none_or(|lost_at| lost_at <= time.now)
    }

    /// When [`is_lost`](Self::is_lost) becomes true.
    pub(crate) fn lost_at(&self) -> Option<Instant> {
        self.lost_at
    }

    /// Whether the lease is not acquired because of writes of an earlier term.
    pub(crate) fn waits_for_writes(&self, time: Time) -> bool {
        self.elector.waits_for_writes(time.lease, self.ended_term)
    }

    /// After which time it continues. None if writes have to end first.
    pub(crate) fn next_turn(&self, time: Time) -> Option<Duration> {
        if let Some(request) = &self.request {
            let timeout = request.sent.now + self.timeout();
            let timeout = timeout.min(self.lost_at.filter(|_| request.is_of_leader).unwrap_or(timeout));
            let is_ready = request.response.is_some();
            return Some(if is_ready {
                Duration::ZERO
            } else {
                timeout.saturating_duration_since(time.now)
            });
        }
        let ends_at = self.elector.term(time.lease).map(|term| term.deadline);
        match self.elector.step(time.lease, time.wall) {
            Step::Wait(until) => Some(ends_at.map_or(until, |ends_at| ends_at.min(until)).since(time.lease)),
            // The end of the term is published first.
            _ if self.waits_for_writes(time) && !self.leadership.is_leading() => None,
            _ => Some(Duration::ZERO),
        }
    }

    /// The server was restored: no response arrives, and positions start again.
    pub(super) fn on_restore(&mut self) {
        if let Some(request) = &mut self.request {
            request.response = Some(LeaseResponse::Failed);
        }
        if let Some(held) = &mut self.held {
            held.positions.fill(0);
        }
    }
}
