//! A play: executes the steps of a schedule, and checks the invariants after each.

use std::time::{Duration, Instant};

use slice_core::well_known::MANAGED_BY_LABEL;
use slice_runtime::leader_election;

use crate::{
    checks::{Checks, Violation, queue},
    engine::Role,
    foreign,
    inputs::{self, Chooser},
    object::{Object, Resource, label},
    replica::{Place, Replica, Time},
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
    /// Terms of leadership.
    pub(crate) terms: usize,
    /// A digest of all writes, to compare two plays of one schedule.
    pub(crate) digest: u64,
}

/// A request that the client gave up, and the server has not executed.
#[derive(Debug)]
pub(crate) enum Late {
    Write(Box<Request>),
    Lease(Role, leader_election::Step),
}

pub(crate) struct Play {
    pub(crate) setup: Setup,
    pub(crate) server: Server,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) late: Vec<Late>,
    pub(crate) now: Instant,
    pub(crate) checks: Checks,
    pub(crate) played: Played,
    pub(crate) trace: Trace,
}

/// Plays a schedule.
pub(crate) fn play(schedule: &Schedule, start: Instant, trace: Trace) -> Result<Played, Violation> {
    let mut play = Play::new(schedule.setup, start, trace)?;
    for step in &schedule.steps {
        play.step(*step)?;
    }
    play.finish()?;
    Ok(play.played)
}

impl Play {
    pub(crate) fn new(setup: Setup, start: Instant, trace: Trace) -> Result<Self, Violation> {
        let roles = match setup.controllers {
            Controllers::Services => &[Role::Services][..],
            Controllers::Mirroring => &[Role::Mirroring],
            Controllers::Both => &[Role::Services, Role::Mirroring],
        };
        let mut server = Server::default();
        inputs::create_initial_objects(&mut server, setup.namespaces);
        let places = |role| (0..setup.replicas).map(move |number| (role, Place::new(number, start)));
        let replicas = roles.iter().copied().flat_map(places);
        let replicas = replicas.map(|(role, place)| Replica::start(role, &setup, place, start));
        let mut play = Self {
            setup,
            server,
            replicas: replicas.collect(),
            late: Vec::new(),
            now: start,
            checks: Checks::default(),
            played: Played::default(),
            trace,
        };
        if setup.listed {
            // The first replica of each controller leads.
            play.elect()?;
            play.start_lists();
            while play.deliver_all() {}
        }
        Ok(play)
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
            Step::Deliver {
                replica,
                stream,
                events,
            } => self.deliver(replica, stream, events),
            Step::Relist { replica, stream } => self.relist(replica, stream),
            Step::FailList {
                replica,
                stream,
                objects,
            } => self.fail_list(replica, stream, objects),
            Step::WrongList { replica, stream } => self.list_nothing(replica, stream)?,
            Step::Hold { replica, stream } => self.hold(replica, stream, true),
            Step::Release { replica, stream } => self.hold(replica, stream, false),
            Step::Process { replica }
            | Step::Send { replica, .. }
            | Step::Respond { replica, .. }
            | Step::SendLease { replica, .. }
            | Step::RespondLease { replica }
            | Step::Freeze { replica, .. }
            | Step::Suspend { replica, .. }
            | Step::Stop { replica, .. }
            | Step::Crash { replica }
            | Step::Resync { replica } => {
                let replica = self.index(replica);
                if !self.is_frozen(replica) {
                    self.act(replica, step)?;
                }
            }
            Step::ExecuteLate { request } => {
                let request = usize::from(request).checked_rem(self.late.len());
                if let Some(request) = request {
                    self.execute_late(request);
                }
            }
            Step::Advance { ms } => self.now += Duration::from_millis(ms.into()),
            Step::Run { ms } => self.run(self.now + Duration::from_millis(ms.into()))?,
            _ => self.change_server(step),
        }
        self.check()
    }

    /// Executes a step of a replica that is not frozen.
    fn act(&mut self, replica: usize, step: Step) -> Result<(), Violation> {
        let time = self.time(replica);
        match step {
            Step::Process { .. } => drop(self.process(replica)?),
            Step::Send { write, fate, .. } => {
                if let Some((job, write)) = choose(&self.replicas[replica].sendable(), write) {
                    self.send(replica, job, write, fate)?;
                }
            }
            Step::Respond { write, .. } => {
                if let Some((job, write)) = choose(&self.replicas[replica].pending(time), write) {
                    self.respond(replica, job, write)?;
                }
            }
            Step::SendLease { fate, .. } => self.send_lease(replica, fate),
            Step::RespondLease { .. } => drop(self.receive_lease(replica)),
            Step::Freeze { ms, .. } => self.freeze(replica, Duration::from_millis(ms.into()), false),
            Step::Suspend { ms, .. } => self.freeze(replica, Duration::from_millis(ms.into()), true),
            Step::Stop { fate, pause_ms, .. } if self.is_running(replica) => {
                self.stop(replica, fate, Duration::from_millis(pause_ms.into()))?;
            }
            Step::Crash { .. } => self.crash(replica),
            Step::Resync { .. } if self.is_running(replica) => {
                self.checks.rewrites.allow_changes(1);
                self.replicas[replica].engine.resync(time.now);
            }
            _ => {}
        }
        Ok(())
    }

    /// Executes a step of the server or of other clients.
    fn change_server(&mut self, step: Step) {
        let chooser = self.chooser();
        match step {
            Step::CollectGarbage => drop(self.server.collect_garbage()),
            Step::Copy => self.server.copy(),
            Step::Restore => self.restore(),
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
                if resource == Some(Resource::Slices) || !self.replicas.iter().all(Replica::is_synced) {
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
                self.checks.rewrites.allow_changes(1);
                let namespace = chooser.namespace(namespace);
                self.server.namespace_fault = fault.map(|fault| (namespace, fault));
            }
            Step::Overload { overload } => self.server.overload = overload,
            _ => {}
        }
    }

    /// A stream delivers some events.
    fn deliver(&mut self, replica: u8, stream: u8, events: u8) {
        let Some((replica, time)) = self.running(replica) else {
            return;
        };
        let replica = &mut self.replicas[replica];
        let stream = usize::from(stream) % replica.streams.len();
        for _ in 0..events {
            if replica.streams[stream].held || !replica.deliver(stream, &self.server, time, self.trace) {
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
            for replica in 0..self.replicas.len() {
                let now = self.time(replica).now;
                self.replicas[replica].on_restore(now);
            }
        }
    }

    fn relist(&mut self, replica: u8, stream: u8) {
        self.checks.rewrites.allow_changes(1);
        let Some((replica, time)) = self.running(replica) else {
            return;
        };
        let replica = &mut self.replicas[replica];
        let stream = usize::from(stream) % replica.streams.len();
        replica.start_list(stream, &self.server, time);
    }

    /// A stream starts a list, which fails after some objects.
    fn fail_list(&mut self, replica: u8, stream: u8, objects: u8) {
        self.relist(replica, stream);
        let Some((replica, time)) = self.running(replica) else {
            return;
        };
        let replica = &mut self.replicas[replica];
        let stream = usize::from(stream) % replica.streams.len();
        for _ in 0..objects {
            replica.deliver(stream, &self.server, time, self.trace);
        }
        replica.fail_list(stream, time.now);
    }

    /// A stream lists, and receives no objects. Only if most endpoints would be removed, so that a second list must confirm it.
    fn list_nothing(&mut self, replica: u8, stream: u8) -> Result<(), Violation> {
        self.check()?;
        let Some((replica, time)) = self.running(replica) else {
            return Ok(());
        };
        let replica = &mut self.replicas[replica];
        // The list of its own slices is believed.
        let stream = usize::from(stream) % (replica.streams.len() - 1);
        let managed_by = replica.role.managed_by();
        let slices = self.server.slices();
        let slices = slices.filter(|slice| label(&slice.metadata, MANAGED_BY_LABEL) == Some(managed_by));
        let total: usize = slices.map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).sum();
        let removed = self.checks.gap.protected(managed_by);
        let is_large = removed > self.setup.unconfirmed_removals && removed > total / 2;
        let found = &replica.streams[stream];
        let wrong_since = found.wrong_since;
        let is_unconfirmed = found.is_unconfirmed() && wrong_since.is_none();
        if !is_large || is_unconfirmed || !found.has_endpoints() || !replica.is_idle(&self.server) {
            return Ok(());
        }
        replica.list_nothing(stream, &self.server, time, self.trace);
        if wrong_since.is_some_and(|since| time.now.saturating_duration_since(since) >= CONFIRMATION_DELAY) {
            // Confirmed by a second list, so that the objects are deleted.
            replica.streams[stream].list_again();
            self.checks.gap.clear();
        }
        Ok(())
    }

    fn chooser(&self) -> Chooser {
        Chooser {
            namespaces: self.setup.namespaces,
        }
    }

    fn index(&self, replica: u8) -> usize {
        usize::from(replica) % self.replicas.len()
    }

    /// The index of a replica and its time, if it handles events.
    fn running(&self, replica: u8) -> Option<(usize, Time)> {
        let replica = self.index(replica);
        self.is_running(replica).then(|| (replica, self.time(replica)))
    }

    fn hold(&mut self, replica: u8, stream: u8, held: bool) {
        let replica = self.index(replica);
        let streams = &mut self.replicas[replica].streams;
        let stream = usize::from(stream) % streams.len();
        streams[stream].held = held;
    }

    /// Checks the invariants that hold at any time.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        // A standby decides nothing before it has caught up with what happens until it leads.
        let is_idle = |replica: &Replica| {
            let is_standby = replica.jobs.is_empty() && !replica.has_term();
            is_standby || replica.is_idle(&self.server)
        };
        let is_idle = self.late.is_empty()
            && self.server.webhook.is_none()
            // A replica that does not know an earlier version removes its endpoints.
            && !self.server.objects().any(Object::is_undecodable)
            && self.replicas.iter().all(is_idle);
        self.checks.gap.check(&self.server, is_idle)?;
        self.check_leaders()?;
        for replica in &self.replicas {
            queue::check_length(replica.engine.queue_len())?;
        }
        Ok(())
    }

    pub(crate) fn start_lists(&mut self) {
        for index in 0..self.replicas.len() {
            if !self.is_running(index) {
                continue;
            }
            let (time, replica) = (self.time(index), &mut self.replicas[index]);
            for stream in 0..replica.streams.len() {
                if replica.is_list_due(stream, time.now) {
                    replica.start_list(stream, &self.server, time);
                }
            }
        }
    }

    /// Delivers all events of streams that are not held. Returns whether there were any.
    pub(crate) fn deliver_all(&mut self) -> bool {
        let mut delivered = false;
        for index in 0..self.replicas.len() {
            if !self.is_running(index) {
                continue;
            }
            let (time, replica) = (self.time(index), &mut self.replicas[index]);
            for stream in 0..replica.streams.len() {
                while !replica.streams[stream].held && replica.deliver(stream, &self.server, time, self.trace) {
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
