//! Parts of a play without faults: a while in between, and the end, at which the controllers must be quiescent.

use std::time::{Duration, Instant};

use crate::{
    checks::{Violation, ensure, final_state, queue},
    play::Play,
    schedule::Fate,
};

/// The duration of a round trip.
const ROUND_TRIP: Duration = Duration::from_millis(5);
/// The virtual time after which the slices must be right: longer than the longest backoff.
const TIME_TO_HEAL: Duration = Duration::from_secs(3 * 60);
/// The virtual time within which a replica leads again: the lease expires, and is acquired.
const TIME_TO_LEAD: Duration = Duration::from_secs(20);
/// The virtual time within which the controllers must be quiescent after the last fault.
const TIME_TO_QUIESCENCE: Duration = Duration::from_secs(20 * 60);

impl Play {
    /// Everything works until `end`, except for held streams, the webhook and an overloaded server.
    pub(crate) fn run(&mut self, end: Instant) -> Result<(), Violation> {
        self.checks.waiting.clear();
        while self.now < end {
            if self.round()? {
                self.now += ROUND_TRIP;
            } else {
                let next = self.next_deadline()?.unwrap_or(end);
                self.advance_to(next.min(end))?;
            }
        }
        Ok(())
    }

    /// When the next replica continues. A deadline that has passed without effect would be a busy loop.
    fn next_deadline(&self) -> Result<Option<Instant>, Violation> {
        let replicas = 0..self.replicas.len();
        let deadlines = replicas.filter_map(|index| {
            let replica = &self.replicas[index];
            let frozen_until = replica.frozen_until.filter(|until| self.now < *until);
            frozen_until.or_else(|| Some(self.now + replica.next_deadline(self.time(index))?))
        });
        let next = deadlines.min();
        ensure(next.is_none_or(|next| next > self.now), "I12", || {
            "a deadline has passed, and nothing is left to do".to_owned()
        })?;
        Ok(next)
    }

    /// Delivers all events and executes all writes. Returns whether there were any.
    fn round(&mut self) -> Result<bool, Violation> {
        let mut progress = self.elect()?;
        self.start_lists();
        progress |= self.deliver_all();
        for replica in 0..self.replicas.len() {
            if self.is_frozen(replica) {
                continue;
            }
            progress |= self.process(replica)?;
            self.check_waiting(replica)?;
            while let Some((job, write)) = self.replicas[replica].sendable().first().copied() {
                progress = true;
                self.send(replica, job, write, Fate::Executed { reads_late: false })?;
                self.check()?;
            }
            let time = self.time(replica);
            while let Some((job, write)) = self.replicas[replica].pending(time).first().copied() {
                progress = true;
                self.respond(replica, job, write)?;
            }
            progress |= self.end_phase(replica)?;
        }
        self.check()?;
        Ok(progress)
    }

    /// Checks that keys outside a namespace whose writes fail get slots.
    fn check_waiting(&mut self, replica: usize) -> Result<(), Violation> {
        let Some((failing, _)) = self.server.namespace_fault else {
            return Ok(());
        };
        let (found, now) = (&self.replicas[replica], self.time(replica).now);
        // Keys of other namespaces may wait because of their own writes, from before the fault moved.
        let is_checked = self.is_running(replica) && found.engine.may_sync() && !found.hangs_outside(failing, now);
        let waiting = if is_checked {
            found.engine.waiting_keys(now)
        } else {
            Vec::new()
        };
        self.checks.waiting.check(replica, &waiting, failing, now)
    }

    /// While writes fail in one namespace only, the others become what their objects demand.
    fn check_other_namespaces(&mut self) -> Result<(), Violation> {
        if self.server.namespace_fault.is_none() || self.setup.namespaces == 1 {
            return Ok(());
        }
        self.run(self.now + TIME_TO_LEAD)?;
        for _ in 0..3 {
            self.run(self.now + TIME_TO_HEAL / 3)?;
            self.server.collect_garbage();
        }
        let managed = self.replicas.iter().map(|replica| replica.role);
        final_state::check(&self.server, managed, &self.setup)
    }

    /// Runs until nothing is left to do.
    fn run_until_quiescent(&mut self) -> Result<(), Violation> {
        let end = self.now + TIME_TO_QUIESCENCE;
        loop {
            if self.round()? {
                self.now += ROUND_TRIP;
            } else if self.server.collect_garbage() {
            } else {
                match self.next_deadline()? {
                    Some(deadline) => self.advance_to(deadline)?,
                    None if self.is_led() => break,
                    None => {
                        let next = self.next_election();
                        self.advance_to(next.ok_or_else(|| Violation::new("I9", "no replica will lead"))?)?;
                    }
                }
            }
            if self.now > end {
                return Err(Violation::new("I9", "not quiescent 20 minutes after the last fault"));
            }
        }
        // Keys of a standby stay queued.
        for replica in self.replicas.iter().filter(|replica| replica.engine.may_sync()) {
            queue::check_empty(replica.engine.queue_len())?;
        }
        self.check_candidates()
    }

    /// Ends all faults, waits until the controllers are quiescent, and checks the result.
    pub(crate) fn finish(&mut self) -> Result<(), Violation> {
        self.server.webhook = None;
        self.server.overload = None;
        self.repair();
        let frozen_until = self.replicas.iter().filter_map(|replica| replica.frozen_until);
        self.now = frozen_until.fold(self.now, Instant::max);
        self.checks.rewrites.set_active(false, self.now);
        for replica in &mut self.replicas {
            for stream in &mut replica.streams {
                stream.held = false;
            }
        }
        while !self.late.is_empty() {
            self.execute_late(0);
        }
        self.check_other_namespaces()?;
        self.server.namespace_fault = None;
        self.run_until_quiescent()?;
        let managed = self.replicas.iter().map(|replica| replica.role);
        final_state::check(&self.server, managed, &self.setup)?;
        self.check_fixed_point("a relist", |play| {
            for index in 0..play.replicas.len() {
                let (time, replica) = (play.time(index), &mut play.replicas[index]);
                for stream in 0..replica.streams.len() {
                    replica.start_list(stream, &play.server, time);
                }
            }
        })?;
        self.check_fixed_point("a resync", |play| {
            for index in 0..play.replicas.len() {
                let now = play.time(index).now;
                play.replicas[index].engine.resync(now);
            }
        })?;
        self.check_fixed_point("a restart", |play| {
            for replica in 0..play.replicas.len() {
                play.crash(replica);
            }
        })
    }

    /// At a fixed point, an action must not cause writes (I6).
    fn check_fixed_point(&mut self, action: &str, act: impl FnOnce(&mut Self)) -> Result<(), Violation> {
        let before = self.played.active_writes;
        act(self);
        self.run_until_quiescent()?;
        match self.played.active_writes - before {
            0 => Ok(()),
            writes => Err(Violation::new(
                "I6",
                format!("{action} at a fixed point caused {writes} writes"),
            )),
        }
    }
}
