//! Parts of a play without faults: a while in between, and the end, at which the controllers must be quiescent.

use std::time::{Duration, Instant};

use crate::{
    checks::{Violation, final_state, queue},
    play::Play,
    schedule::Fate,
};

/// The duration of a round trip.
const ROUND_TRIP: Duration = Duration::from_millis(5);
/// The virtual time within which the controllers must be quiescent after the last fault.
const TIME_TO_QUIESCENCE: Duration = Duration::from_secs(20 * 60);

impl Play {
    /// Everything works until `end`, except for held streams and the webhook.
    pub(crate) fn run(&mut self, end: Instant) -> Result<(), Violation> {
        self.start_lists();
        while self.now < end {
            if self.round()? {
                self.now += ROUND_TRIP;
                continue;
            }
            let deadlines = self
                .controllers
                .iter()
                .filter_map(|controller| controller.engine.next_deadline(self.now));
            self.now = deadlines.min().unwrap_or(end).clamp(self.now, end);
        }
        Ok(())
    }

    /// Delivers all events and executes all writes. Returns whether there were any.
    fn round(&mut self) -> Result<bool, Violation> {
        let mut progress = self.deliver_all();
        for controller in 0..self.controllers.len() {
            progress |= self.process(controller)?;
            while let Some((job, write)) = self.controllers[controller].sendable().first().copied() {
                progress = true;
                self.send(controller, job, write, Fate::Executed { reads_late: false })?;
                self.check()?;
            }
            while let Some((job, write)) = self.controllers[controller].pending().first().copied() {
                progress = true;
                self.respond(controller, job, write)?;
            }
        }
        self.check()?;
        Ok(progress)
    }

    /// Runs until nothing is left to do.
    fn run_until_quiescent(&mut self) -> Result<(), Violation> {
        let end = self.now + TIME_TO_QUIESCENCE;
        loop {
            self.start_lists();
            if self.round()? {
                self.now += ROUND_TRIP;
            } else if self.server.collect_garbage() {
            } else {
                let deadlines = self
                    .controllers
                    .iter()
                    .filter_map(|controller| controller.engine.next_deadline(self.now));
                match deadlines.min() {
                    Some(deadline) => self.now = self.now.max(deadline),
                    None => break,
                }
            }
            if self.now > end {
                return Err(Violation::new("I9", "not quiescent 20 minutes after the last fault"));
            }
        }
        for controller in &self.controllers {
            queue::check_empty(controller.engine.queue_len())?;
        }
        Ok(())
    }

    /// Ends all faults, waits until the controllers are quiescent, and checks the result.
    pub(crate) fn finish(&mut self) -> Result<(), Violation> {
        self.server.webhook = None;
        self.checks.rewrites.set_active(false, self.now);
        for controller in &mut self.controllers {
            for stream in &mut controller.streams {
                stream.held = false;
            }
        }
        while !self.late.is_empty() {
            self.execute_late(0);
        }
        self.run_until_quiescent()?;
        let managed = self.controllers.iter().map(|controller| controller.role);
        final_state::check(&self.server, managed, &self.setup)?;
        self.check_fixed_point("a relist", |play| {
            for controller in &mut play.controllers {
                for stream in 0..controller.streams.len() {
                    controller.start_list(stream, &play.server, play.now);
                }
            }
        })?;
        self.check_fixed_point("a resync", |play| {
            for controller in &mut play.controllers {
                controller.engine.resync(play.now);
            }
        })?;
        self.check_fixed_point("a restart", |play| {
            for controller in 0..play.controllers.len() {
                play.crash(controller);
            }
        })
    }

    /// At a fixed point, an action must not cause writes (I6).
    fn check_fixed_point(&mut self, action: &str, act: impl FnOnce(&mut Self)) -> Result<(), Violation> {
        let before = self.played.writes;
        act(self);
        self.run_until_quiescent()?;
        match self.played.writes - before {
            0 => Ok(()),
            writes => Err(Violation::new(
                "I6",
                format!("{action} at a fixed point caused {writes} writes"),
            )),
        }
    }
}
