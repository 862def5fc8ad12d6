//! Leader election in a play: requests about leases, terms, and replicas that freeze or stop.

use std::time::{Duration, Instant};

use slice_runtime::{
    leader_election::Step,
    simulation::{LOSS_TIMEOUT, STOP_TIMEOUT},
};

use crate::{
    checks::{Violation, ensure, leadership},
    engine::Role,
    play::{Late, Play},
    replica::{Phase, Time},
    schedule::LeaseFate,
    server::LeaseResponse,
};

impl Play {
    /// The time on the machine of a replica.
    pub(crate) fn time(&self, replica: usize) -> Time {
        self.replicas[replica].clocks().at(self.now)
    }

    pub(crate) fn is_frozen(&self, replica: usize) -> bool {
        self.replicas[replica]
            .frozen_until
            .is_some_and(|until| self.now < until)
    }

    /// Whether a replica handles events and syncs keys.
    pub(crate) fn is_running(&self, replica: usize) -> bool {
        !self.is_frozen(replica) && matches!(self.replicas[replica].phase, Phase::Running)
    }

    /// The process of a replica does nothing for a while; if its machine is suspended, its monotonic clock stops too.
    pub(crate) fn freeze(&mut self, replica: usize, duration: Duration, suspended: bool) {
        if self.is_frozen(replica) {
            return;
        }
        let until = self.now + duration;
        let found = &mut self.replicas[replica];
        found.frozen_until = Some(until);
        if suspended {
            found.clocks_mut().suspend(self.now, until);
        }
    }

    /// The candidate of a replica sends its next request, if one is due.
    pub(crate) fn send_lease(&mut self, replica: usize, fate: LeaseFate) {
        let time = self.time(replica);
        let found = &mut self.replicas[replica];
        let role = found.role;
        let Some(candidate) = &mut found.candidate else { return };
        let Some(step) = candidate.next_request(time) else {
            return;
        };
        self.trace
            .print(|| format!("replica {replica} sends {}", describe(&step)));
        let response = self.request_lease(role, &step, fate);
        let held = self.held_now(replica);
        if let Some(candidate) = &mut self.replicas[replica].candidate {
            candidate.send(response, held, time);
        }
    }

    /// What the checks know of a lease that is acquired now.
    fn held_now(&self, replica: usize) -> leadership::Held {
        let resources = self.replicas[replica].resources();
        leadership::Held {
            renewed_at: self.now,
            lease_epoch: self.server.lease_epoch,
            positions: resources.map(|resource| self.server.position(resource)).collect(),
        }
    }

    fn request_lease(&mut self, role: Role, step: &Step, fate: LeaseFate) -> Option<LeaseResponse> {
        match fate {
            LeaseFate::RequestLost => None,
            _ if self.server.overload.is_some() => Some(LeaseResponse::Failed),
            LeaseFate::Executed => Some(self.server.execute_lease(role, step)),
            LeaseFate::ResponseLost => {
                self.server.execute_lease(role, step);
                None
            }
            LeaseFate::Late => {
                self.late.push(Late::Lease(role, step.clone()));
                None
            }
            LeaseFate::Rejected => Some(LeaseResponse::Failed),
        }
    }

    /// The response about a lease arrives, or the request is given up. Returns whether either is the case.
    pub(crate) fn receive_lease(&mut self, replica: usize) -> bool {
        let time = self.time(replica);
        let candidate = self.replicas[replica].candidate.as_mut();
        candidate.is_some_and(|candidate| candidate.receive(time))
    }

    /// Starts or ends the term of an engine. Returns whether it did.
    pub(crate) fn follow_term(&mut self, replica: usize) -> Result<bool, Violation> {
        let time = self.time(replica);
        let found = &mut self.replicas[replica];
        let Some(candidate) = &mut found.candidate else {
            return Ok(false);
        };
        let (before, term) = (found.engine.term(), candidate.leadership.term(time.lease));
        if before == term {
            if term.is_none() {
                // Also of a term that ended before it was seen here.
                candidate.ended_term = candidate.leadership.last_term();
            }
            return Ok(false);
        }
        let Some(ended) = before else {
            self.trace
                .print(|| format!("replica {replica} leads in its term {term:?}"));
            found.engine.set_term(term, time.now);
            self.played.terms += 1;
            // It syncs what the one before has synced.
            self.checks.rewrites.allow_changes(4);
            return Ok(true);
        };
        self.trace.print(|| format!("replica {replica} lost its term {ended}"));
        found.engine.set_term(None, time.now);
        found.phase = Phase::Ending {
            term: ended,
            until: time.now + LOSS_TIMEOUT,
        };
        self.end_phase(replica)?;
        Ok(true)
    }

    /// A replica gets SIGTERM. It is started again some time after it has ended.
    pub(crate) fn stop(&mut self, replica: usize, fate: LeaseFate, pause: Duration) -> Result<(), Violation> {
        let until = self.time(replica).now + STOP_TIMEOUT;
        self.replicas[replica].phase = Phase::Stopping { until, fate, pause };
        self.end_phase(replica).map(drop)
    }

    /// Ends the phase of a replica that waits for writes in flight, if they have ended or took too long. Returns whether it did.
    pub(crate) fn end_phase(&mut self, replica: usize) -> Result<bool, Violation> {
        let time = self.time(replica);
        let found = &mut self.replicas[replica];
        let is_idle = found.jobs.is_empty();
        match found.phase {
            Phase::Ending { term, .. } if is_idle => {
                found.phase = Phase::Running;
                if let Some(candidate) = &mut found.candidate {
                    candidate.ended_term = term;
                }
            }
            Phase::Stopping { fate, pause, .. } if is_idle => {
                let candidate = found.candidate.as_mut();
                if candidate.as_ref().is_some_and(|candidate| candidate.request.is_some()) {
                    return Ok(false);
                }
                if let Some(lease) = candidate.and_then(|candidate| candidate.release(time)) {
                    self.trace.print(|| format!("replica {replica} releases its lease"));
                    let role = self.replicas[replica].role;
                    self.request_lease(role, &Step::Replace(Box::new(lease)), fate);
                }
                self.restart(replica);
                self.replicas[replica].frozen_until = Some(self.now + pause);
            }
            // The process exits.
            Phase::Ending { until, .. } | Phase::Stopping { until, .. } if until <= time.now => self.crash(replica),
            Phase::Running | Phase::Ending { .. } | Phase::Stopping { .. } => return Ok(false),
        }
        self.check_leaders()?;
        Ok(true)
    }

    /// Checks that at most one replica of each controller leads.
    pub(crate) fn check_leaders(&self) -> Result<(), Violation> {
        for role in [Role::Services, Role::Mirroring] {
            let replicas = self.replicas.iter().filter(|replica| replica.role == role);
            let leaders = replicas.filter_map(|replica| replica.held());
            leadership::check_leaders(leaders, self.server.lease_epoch, self.now)?;
        }
        Ok(())
    }

    /// All candidates whose turn it is acquire or renew their leases. Returns whether a term was published or withdrawn.
    pub(crate) fn elect(&mut self) -> Result<bool, Violation> {
        let mut changed = false;
        for replica in 0..self.replicas.len() {
            if self.is_frozen(replica) {
                continue;
            }
            let term = |play: &Self| {
                let candidate = play.replicas[replica].candidate.as_ref();
                candidate.and_then(|candidate| candidate.leadership.term(play.time(replica).lease))
            };
            let before = term(self);
            while self.next_turn(replica).is_some_and(|turn| turn.is_zero()) {
                if !self.receive_lease(replica) {
                    self.send_lease(replica, LeaseFate::Executed);
                }
            }
            changed |= term(self) != before;
        }
        if changed {
            self.check_leaders()?;
        }
        Ok(changed)
    }

    /// After which time the candidate of a replica continues.
    fn next_turn(&self, replica: usize) -> Option<Duration> {
        let candidate = self.replicas[replica].candidate.as_ref()?;
        candidate.next_turn(self.time(replica))
    }

    /// When the next candidate continues.
    pub(crate) fn next_election(&self) -> Option<Instant> {
        let replicas = 0..self.replicas.len();
        let turns = replicas.filter_map(|replica| match self.replicas[replica].frozen_until {
            Some(until) if self.now < until => Some(until),
            _ => self.next_turn(replica).map(|turn| self.now + turn),
        });
        turns.min()
    }

    /// Time passes, in which candidates acquire and renew their leases. Ends early when a term is published or withdrawn.
    pub(crate) fn advance_to(&mut self, end: Instant) -> Result<(), Violation> {
        while self.now < end {
            let next = self.next_election().unwrap_or(end).min(end);
            self.now = next.max(self.now);
            if self.elect()? {
                break;
            }
        }
        Ok(())
    }

    /// Whether each controller has a replica that syncs keys.
    pub(crate) fn is_led(&self) -> bool {
        let is_led = |role| {
            let mut replicas = self.replicas.iter().filter(|replica| replica.role == role);
            replicas.any(|replica| matches!(replica.phase, Phase::Running) && replica.engine.may_sync())
        };
        self.replicas.iter().all(|replica| is_led(replica.role))
    }

    /// Checks that every candidate can acquire its lease.
    pub(crate) fn check_candidates(&self) -> Result<(), Violation> {
        for (index, replica) in self.replicas.iter().enumerate() {
            let candidate = replica.candidate.as_ref();
            let waits = candidate.is_some_and(|candidate| candidate.waits_for_writes(self.time(index)));
            ensure(!waits, "I9", || {
                format!("replica {index} waits for writes of an earlier term, and none is in flight")
            })?;
        }
        Ok(())
    }
}

fn describe(step: &Step) -> &'static str {
    match step {
        Step::Wait(_) => "nothing",
        Step::Read => "a read of the lease",
        Step::Create(_) => "a create of the lease",
        Step::Replace(_) => "a replace of the lease",
    }
}
