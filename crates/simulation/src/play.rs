//! A play: executes the steps of a schedule, and checks the invariants after each.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use slice_core::well_known::MANAGED_BY_LABEL;

use crate::{
    checks::{Checks, Violation, queue},
    controller::Controller,
    engine::Role,
    foreign,
    inputs::{self, Chooser},
    object::{Resource, label},
    schedule::{Controllers, Schedule, Setup, Step},
    server::{Request, Server},
    trace::Trace,
};

/// The time after which a second list confirms the removal of most endpoints (invariants.md §5).
const CONFIRMATION_DELAY: Duration = Duration::from_secs(30);

/// The result of a play without a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Played {
    /// Executed steps.
    pub(crate) steps: usize,
    /// Writes that changed a stored slice.
    pub(crate) writes: usize,
    /// Those in namespaces that are not terminating. In others a plan may be executed in part, and is not repeated.
    pub(crate) active_writes: usize,
    /// A digest of all writes, to compare two plays of one schedule.
    pub(crate) digest: u64,
}

pub(crate) struct Play {
    pub(crate) setup: Setup,
    pub(crate) server: Server,
    pub(crate) controllers: Vec<Controller>,
    /// Requests that the client gave up, and the server has not executed.
    pub(crate) late: Vec<Request>,
    start: Instant,
    pub(crate) now: Instant,
    pub(crate) checks: Checks,
    pub(crate) played: Played,
    pub(crate) trace: Trace,
}

/// Plays a schedule.
pub(crate) fn play(schedule: &Schedule, start: Instant, trace: Trace) -> Result<Played, Violation> {
    let mut play = Play::new(schedule.setup, start, trace);
    for step in &schedule.steps {
        play.step(*step)?;
    }
    play.finish()?;
    Ok(play.played)
}

impl Play {
    pub(crate) fn new(setup: Setup, start: Instant, trace: Trace) -> Self {
        let roles = match setup.controllers {
            Controllers::Services => &[Role::Services][..],
            Controllers::Mirroring => &[Role::Mirroring],
            Controllers::Both => &[Role::Services, Role::Mirroring],
        };
        let mut server = Server::default();
        inputs::create_initial_objects(&mut server, setup.namespaces);
        let controllers = roles.iter().map(|role| Controller::start(*role, &setup));
        let mut play = Self {
            setup,
            server,
            controllers: controllers.collect(),
            late: Vec::new(),
            start,
            now: start,
            checks: Checks::default(),
            played: Played::default(),
            trace,
        };
        if setup.listed {
            play.start_lists();
            while play.deliver_all() {}
        }
        play
    }

    /// Executes a step and checks the invariants that hold at any time.
    pub(crate) fn step(&mut self, step: Step) -> Result<(), Violation> {
        self.played.steps += 1;
        self.trace.print(|| format!("{step:?}"));
        let chooser = self.chooser();
        if inputs::change(&mut self.server, chooser, step) {
            self.checks.rewrites.allow_changes(1);
            return self.check();
        }
        match step {
            Step::CollectGarbage => drop(self.server.collect_garbage()),
            Step::Deliver {
                controller,
                stream,
                events,
            } => self.deliver(controller, stream, events),
            Step::Relist { controller, stream } => self.relist(controller, stream),
            Step::FailList {
                controller,
                stream,
                objects,
            } => self.fail_list(controller, stream, objects),
            Step::WrongList { controller, stream } => self.list_nothing(controller, stream)?,
            Step::Hold { controller, stream } => self.hold(controller, stream, true),
            Step::Release { controller, stream } => self.hold(controller, stream, false),
            Step::Process { controller } => {
                let controller = self.index(controller);
                self.process(controller)?;
            }
            Step::Send {
                controller,
                write,
                fate,
            } => {
                let controller = self.index(controller);
                if let Some((job, write)) = choose(&self.controllers[controller].sendable(), write) {
                    self.send(controller, job, write, fate)?;
                }
            }
            Step::Respond { controller, write } => {
                let controller = self.index(controller);
                if let Some((job, write)) = choose(&self.controllers[controller].pending(self.now), write) {
                    self.respond(controller, job, write)?;
                }
            }
            Step::ExecuteLate { request } => {
                let request = usize::from(request).checked_rem(self.late.len());
                if let Some(request) = request {
                    self.execute_late(request);
                }
            }
            Step::Foreign { slice, edit } => {
                self.checks.rewrites.allow_changes(1);
                foreign::edit(&mut self.server, slice, edit);
                self.checks.gap.clear();
            }
            Step::Webhook { rewrite } => {
                self.server.webhook = rewrite;
                self.checks.rewrites.set_active(rewrite.is_some(), self.now);
                self.checks.gap.clear();
            }
            Step::Corrupt { resource, object } => {
                self.checks.rewrites.allow_changes(1);
                let resource = inputs::corrupt(&mut self.server, resource, object);
                // An earlier version may not be known.
                if resource == Some(Resource::Slices) || !self.controllers.iter().all(Controller::is_synced) {
                    self.checks.gap.clear();
                }
            }
            Step::Repair => {
                self.checks.rewrites.allow_changes(4);
                self.repair();
            }
            Step::Terminate { namespace } => self.server.terminate(chooser.namespace(namespace)),
            Step::Purge {
                namespace,
                first,
                count,
            } => self.server.purge(chooser.namespace(namespace), first, count),
            Step::FailNamespace { namespace, fault } => {
                let namespace = chooser.namespace(namespace);
                self.server.namespace_fault = fault.map(|fault| (namespace, fault));
            }
            Step::Overload { overload } => self.server.overload = overload,
            Step::Crash { controller } => {
                self.checks.rewrites.allow_changes(4);
                let controller = self.index(controller);
                self.crash(controller);
            }
            Step::Copy => self.server.copy(),
            Step::Restore => self.restore(),
            Step::Resync { controller } => {
                self.checks.rewrites.allow_changes(1);
                let controller = self.index(controller);
                self.controllers[controller].engine.resync(self.now);
            }
            Step::Advance { ms } => self.now += Duration::from_millis(ms.into()),
            Step::Run { ms } => self.run(self.now + Duration::from_millis(ms.into()))?,
            _ => {}
        }
        self.check()
    }

    /// A stream delivers some events.
    fn deliver(&mut self, controller: u8, stream: u8, events: u8) {
        let controller = self.index(controller);
        let controller = &mut self.controllers[controller];
        let stream = usize::from(stream) % controller.streams.len();
        for _ in 0..events {
            if controller.streams[stream].held || !controller.deliver(stream, &self.server, self.now, self.trace) {
                break;
            }
        }
    }

    /// All objects can be decoded again. A slice has the state of endpoints from before.
    pub(crate) fn repair(&mut self) {
        inputs::repair(&mut self.server);
        self.checks.gap.clear();
    }

    /// The server is restored from an older copy. Requests in flight do not reach it.
    fn restore(&mut self) {
        if self.server.restore() {
            self.checks.rewrites.allow_changes(4);
            self.checks.gap.clear();
            self.late.clear();
            for controller in &mut self.controllers {
                controller.on_restore(self.now);
            }
        }
    }

    fn relist(&mut self, controller: u8, stream: u8) {
        self.checks.rewrites.allow_changes(1);
        let controller = self.index(controller);
        let controller = &mut self.controllers[controller];
        let stream = usize::from(stream) % controller.streams.len();
        controller.start_list(stream, &self.server, self.now);
    }

    /// A stream starts a list, which fails after some objects.
    fn fail_list(&mut self, controller: u8, stream: u8, objects: u8) {
        self.relist(controller, stream);
        let controller = self.index(controller);
        let controller = &mut self.controllers[controller];
        let stream = usize::from(stream) % controller.streams.len();
        for _ in 0..objects {
            controller.deliver(stream, &self.server, self.now, self.trace);
        }
        controller.fail_list(stream, self.now);
    }

    /// A stream lists, and receives no objects. Only if most endpoints would be removed, so that a second list must confirm it.
    fn list_nothing(&mut self, controller: u8, stream: u8) -> Result<(), Violation> {
        self.check()?;
        let index = self.index(controller);
        let controller = &mut self.controllers[index];
        // The list of its own slices is believed.
        let stream = usize::from(stream) % (controller.streams.len() - 1);
        let managed_by = controller.role.managed_by();
        let slices = self.server.slices();
        let slices = slices.filter(|slice| label(&slice.metadata, MANAGED_BY_LABEL) == Some(managed_by));
        let total: usize = slices.map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).sum();
        let removed = self.checks.gap.protected(managed_by);
        let is_large = removed > self.setup.unconfirmed_removals && removed > total / 2;
        let found = &controller.streams[stream];
        let wrong_since = found.wrong_since;
        let is_unconfirmed = found.is_unconfirmed() && wrong_since.is_none();
        if !is_large || is_unconfirmed || !found.has_endpoints() || !controller.is_idle(&self.server) {
            return Ok(());
        }
        controller.list_nothing(stream, &self.server, self.now, self.trace);
        if wrong_since.is_some_and(|since| self.now.saturating_duration_since(since) >= CONFIRMATION_DELAY) {
            // Confirmed by a second list, so that the objects are deleted.
            controller.streams[stream].list_again();
            self.checks.gap.clear();
        }
        Ok(())
    }

    fn chooser(&self) -> Chooser {
        Chooser {
            namespaces: self.setup.namespaces,
        }
    }

    fn index(&self, controller: u8) -> usize {
        usize::from(controller) % self.controllers.len()
    }

    pub(crate) fn time(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + (self.now - self.start)
    }

    fn hold(&mut self, controller: u8, stream: u8, held: bool) {
        let controller = self.index(controller);
        let streams = &mut self.controllers[controller].streams;
        let stream = usize::from(stream) % streams.len();
        streams[stream].held = held;
    }

    /// Checks the invariants that hold at any time.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        let is_idle = self.late.is_empty()
            && self.server.webhook.is_none()
            && self
                .controllers
                .iter()
                .all(|controller| controller.is_idle(&self.server));
        self.checks.gap.check(&self.server, is_idle)?;
        for controller in &self.controllers {
            queue::check_length(controller.engine.queue_len())?;
        }
        Ok(())
    }

    pub(crate) fn start_lists(&mut self) {
        for controller in &mut self.controllers {
            for stream in 0..controller.streams.len() {
                if controller.is_list_due(stream, self.now) {
                    controller.start_list(stream, &self.server, self.now);
                }
            }
        }
    }

    /// Delivers all events of streams that are not held. Returns whether there were any.
    pub(crate) fn deliver_all(&mut self) -> bool {
        let mut delivered = false;
        for controller in &mut self.controllers {
            for stream in 0..controller.streams.len() {
                while !controller.streams[stream].held && controller.deliver(stream, &self.server, self.now, self.trace)
                {
                    delivered = true;
                }
            }
        }
        delivered
    }
}

fn choose(candidates: &[(usize, usize)], index: u8) -> Option<(usize, usize)> {
    (!candidates.is_empty()).then(|| candidates[usize::from(index) % candidates.len()])
}
