//! The decisions of leader election: a pure state machine.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};

use super::{LeaderElection, LeaseTime};

/// How much later than the retry period a standby tries again, at most, as a part of that period: so that several do not try
/// together.
const RETRY_JITTER: f64 = 0.2;
/// The duration of a released lease, in seconds. The API requires a positive one.
const RELEASED_DURATION: i32 = 1;

/// Decides which request about the lease is next, and whether this instance leads.
///
/// Compatible with client-go: the holder renews `renewTime` before the lease duration of its record has passed, and another
/// instance may take over when the record has not changed for that long. Clocks of other machines are not compared: what counts
/// is when this instance last saw the record change (F20).
#[derive(Debug)]
pub struct Elector {
    config: LeaderElection,
    observed: Option<Observed>,
    /// Whether `observed` can be the base of a write: it was read, or written, by the last request.
    is_current: bool,
    next_attempt_at: LeaseTime,
    leading: Option<Leading>,
    /// The number of times that this instance became the leader.
    terms: u64,
}

/// The lease as last seen.
#[derive(Debug)]
struct Observed {
    lease: Lease,
    /// When its record was last seen to change.
    changed_at: LeaseTime,
}

/// The state of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leading {
    /// When the last request that renewed the lease was sent.
    renewed_at: LeaseTime,
}

/// A term: the time from becoming the leader to losing or releasing the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The number of the term in this process, from 1 on.
    pub number: u64,
    /// The renew deadline: nothing is sent, or waited for, from then on, unless the lease is renewed before (I8).
    pub deadline: LeaseTime,
}

/// The next request.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// None before this time.
    Wait(LeaseTime),
    /// Read the lease.
    Read,
    /// Create the lease.
    Create(Box<Lease>),
    /// Replace the lease. It has a resourceVersion, so that one of several writers succeeds.
    Replace(Box<Lease>),
}

impl Elector {
    /// An instance that does not lead.
    #[must_use]
    pub fn new(config: LeaderElection) -> Self {
        Self {
            config,
            observed: None,
            is_current: false,
            next_attempt_at: LeaseTime::default(),
            leading: None,
            terms: 0,
        }
    }

    /// The next request. `time` is the one to write into the record.
    #[must_use]
    pub fn step(&self, now: LeaseTime, time: Timestamp) -> Step {
        if now < self.next_attempt_at {
            return Step::Wait(self.next_attempt_at);
        }
        match &self.observed {
            _ if !self.is_current => Step::Read,
            None => Step::Create(Box::new(self.new_lease(time))),
            Some(observed) => Step::Replace(Box::new(self.held_lease(&observed.lease, time))),
        }
    }

    /// The term at this time; none if this instance does not lead, or if the renew deadline has passed.
    #[must_use]
    pub fn term(&self, now: LeaseTime) -> Option<Term> {
        let deadline = self.leading?.renewed_at + self.config.renew_deadline;
        let number = self.terms;
        (now < deadline).then_some(Term { number, deadline })
    }

    /// The instance that holds the lease, as last seen; none if it was released or does not exist.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        let spec = self.observed.as_ref()?.lease.spec.as_ref()?;
        spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }

    /// The number of terms so far, with the present one.
    #[must_use]
    pub fn terms(&self) -> u64 {
        self.terms
    }

    /// Whether the lease must not be acquired, because writes of an earlier term are in flight. `ended_term` is the last one
    /// whose writes have all ended.
    #[must_use]
    pub fn waits_for_writes(&self, now: LeaseTime, ended_term: u64) -> bool {
        self.term(now).is_none() && ended_term < self.terms
    }

    /// Ends the term if the renew deadline has passed.
    pub fn expire(&mut self, now: LeaseTime) {
        if self.leading.is_some() && self.term(now).is_none() {
            self.stop_leading();
        }
    }

    /// The lease was read, and does not exist if none. `random` is between 0 and 1.
    pub fn on_read(&mut self, lease: Option<Lease>, now: LeaseTime, random: f64) {
        self.observe(lease, now);
        if self.leading.is_some() && !self.holds() {
            // Another instance may have led meanwhile, even if the lease is free again.
            self.stop_leading();
        }
        self.is_current = self.leading.is_some() || self.is_free(now);
        if !self.is_current {
            self.next_attempt_at = now + self.retry_delay(random);
        }
    }

    /// The lease was written by a request that was sent at `sent_at`; the response has arrived now.
    pub fn on_written(&mut self, lease: Lease, sent_at: LeaseTime, now: LeaseTime, random: f64) {
        // From before the request was sent: others may have seen the record since.
        self.observe(Some(lease), sent_at);
        if !self.holds() {
            // Admission changed the record.
            self.stop_leading();
            self.is_current = false;
            self.next_attempt_at = now + self.retry_delay(random);
            return;
        }
        self.next_attempt_at = sent_at + self.config.retry_period;
        let renewed_at = self.leading.map_or(sent_at, |leading| leading.renewed_at);
        if now >= renewed_at + self.config.renew_deadline {
            // Too late. The term that it was to renew has ended, and is not continued: others may know that it has ended.
            self.stop_leading();
            return;
        }
        if self.leading.is_none() {
            self.terms += 1;
        }
        self.leading = Some(Leading { renewed_at: sent_at });
        self.is_current = true;
    }

    /// A request failed, or its result is unknown.
    pub fn on_failed(&mut self, now: LeaseTime, random: f64) {
        self.is_current = false;
        self.next_attempt_at = now + self.retry_delay(random);
        self.expire(now);
    }

    /// Ends the term, and returns the released lease to write. None if this instance does not lead, or if the lease on the
    /// server is not known.
    pub fn release(&mut self, now: LeaseTime, time: Timestamp) -> Option<Lease> {
        let released = self.term(now).filter(|_| self.is_current).and(self.observed.as_ref());
        let released = released.map(|observed| {
            let mut lease = observed.lease.clone();
            let spec = lease.spec.get_or_insert_default();
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(RELEASED_DURATION);
            spec.acquire_time = Some(MicroTime(time));
            spec.renew_time = Some(MicroTime(time));
            lease
        });
        self.stop_leading();
        released
    }

    fn stop_leading(&mut self) {
        self.leading = None;
        self.is_current = false;
    }

    fn observe(&mut self, lease: Option<Lease>, now: LeaseTime) {
        self.observed = lease.map(|lease| {
            let before = self.observed.take().filter(|before| before.lease.spec == lease.spec);
            let changed_at = before.map_or(now, |before| before.changed_at);
            Observed { lease, changed_at }
        });
    }

    fn holds(&self) -> bool {
        self.holder() == Some(&self.config.identity)
    }

    /// Whether this instance may take the lease: it is released, missing or its own, or its record has not changed for its
    /// duration.
    fn is_free(&self, now: LeaseTime) -> bool {
        let Some(observed) = &self.observed else { return true };
        let spec = observed.lease.spec.as_ref();
        let duration = spec
            .and_then(|spec| spec.lease_duration_seconds)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(self.config.lease_duration, Duration::from_secs);
        self.holder().is_none() || self.holds() || now >= observed.changed_at + duration
    }

    fn retry_delay(&self, random: f64) -> Duration {
        self.config.retry_period.mul_f64(1.0 + RETRY_JITTER * random)
    }

    fn new_lease(&self, time: Timestamp) -> Lease {
        let lease = Lease {
            metadata: ObjectMeta {
                namespace: Some(self.config.namespace.clone()),
                name: Some(self.config.name.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        };
        Lease {
            spec: Some(LeaseSpec {
                lease_transitions: Some(0),
                ..self.held_spec(None, time)
            }),
            ..lease
        }
    }

    /// The lease with this instance as its holder: renewed, or taken from another one.
    fn held_lease(&self, lease: &Lease, time: Timestamp) -> Lease {
        Lease {
            spec: Some(self.held_spec(lease.spec.as_ref(), time)),
            ..lease.clone()
        }
    }

    fn held_spec(&self, before: Option<&LeaseSpec>, time: Timestamp) -> LeaseSpec {
        let time = Some(MicroTime(time));
        let mut spec = before.cloned().unwrap_or_default();
        if !self.holds() || spec.acquire_time.is_none() {
            spec.acquire_time.clone_from(&time);
        }
        if !self.holds() {
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        }
        LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            lease_duration_seconds: Some(seconds(self.config.lease_duration)),
            renew_time: time,
            ..spec
        }
    }
}

/// Whole seconds, rounded up: others must not take over before the duration has passed.
fn seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(i32::MAX)
}
