//! A play: executes the steps of a schedule, and checks the invariants after each.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};
use slice_reconciler::Operation;
use slice_runtime::simulation::Response;

use crate::{
    checks::{Checks, Violation, gate, plan, queue, request},
    controller::{Controller, Job, WriteState},
    engine::Role,
    foreign, inputs,
    object::{Object, Resource, label},
    schedule::{Controllers, Fate, Schedule, Setup, Step},
    server::Server,
    trace::{Trace, describe, describe_response},
};

/// The result of a play without a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Played {
    /// Executed steps.
    pub(crate) steps: usize,
    /// Writes that changed a stored slice.
    pub(crate) writes: usize,
    /// A digest of all writes, to compare two plays of one schedule.
    pub(crate) digest: u64,
}

pub(crate) struct Play {
    pub(crate) setup: Setup,
    pub(crate) server: Server,
    pub(crate) controllers: Vec<Controller>,
    /// Requests that the client gave up, and the server has not executed.
    pub(crate) late: Vec<Operation>,
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
        inputs::create_initial_objects(&mut server);
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
        if inputs::change(&mut self.server, step) {
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
                if let Some((job, write)) = choose(&self.controllers[controller].pending(), write) {
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
                if inputs::corrupt(&mut self.server, resource, object) == Some(Resource::Slices) {
                    self.checks.gap.clear();
                }
            }
            Step::Repair => {
                self.checks.rewrites.allow_changes(4);
                inputs::repair(&mut self.server);
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

    /// The server is restored from an older copy. Requests in flight do not reach it.
    fn restore(&mut self) {
        if self.server.restore() {
            self.checks.rewrites.allow_changes(4);
            self.checks.gap.clear();
            self.late.clear();
            self.controllers.iter_mut().for_each(Controller::on_restore);
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

    fn index(&self, controller: u8) -> usize {
        usize::from(controller) % self.controllers.len()
    }

    fn time(&self) -> Timestamp {
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
                if !controller.streams[stream].is_started() {
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

    /// Syncs due keys of a controller. Returns whether there are plans.
    pub(crate) fn process(&mut self, controller: usize) -> Result<bool, Violation> {
        let time = self.time();
        let controller = &mut self.controllers[controller];
        let plans = controller.engine.process_due(self.now, time);
        let has_plans = !plans.is_empty();
        gate::check(has_plans, controller.closed_until, self.now)?;
        for plan in plans {
            for write in &plan.writes {
                self.trace
                    .print(|| format!("{} is planned: {}", plan.key, describe(&write.operation)));
            }
            plan::check(&plan, controller.is_synced(), &controller.seen)?;
            self.checks.rewrites.planned(&plan.key, self.now)?;
            controller.jobs.push(Job::new(plan, controller.epoch));
        }
        Ok(has_plans)
    }

    /// A write arrives at the server, or is lost.
    pub(crate) fn send(&mut self, controller: usize, job: usize, write: usize, fate: Fate) -> Result<(), Violation> {
        let role = self.controllers[controller].role;
        let found = &self.controllers[controller].jobs[job];
        let (operation, probe) = (found.operation(write).clone(), found.probe);
        let fate = self.server.overload.map_or(fate, |overload| fate.rejected_by(overload));
        let response = if found.is_skipped(write) {
            Some(Response::DependencyFailed)
        } else {
            match fate {
                Fate::Executed { reads_late } => {
                    let response = self.execute(role, &operation, probe)?;
                    response.or_else(|| (!reads_late).then(|| self.server.read_live(name(&operation))))
                }
                Fate::RequestLost => Some(Response::Timeout),
                Fate::ResponseLost => {
                    self.execute(role, &operation, probe)?;
                    Some(Response::Timeout)
                }
                Fate::Late => {
                    request::check(&operation, None, &self.limits(role))?;
                    // A dry run leaves nothing to execute late.
                    self.late.extend((!probe).then_some(operation));
                    Some(Response::Timeout)
                }
                Fate::Rejected { code, retry_after } => Some(Response::Error {
                    code,
                    retry_after,
                    body: "rejected",
                }),
                Fate::NotFoundByProxy => Some(Response::Error {
                    code: 404,
                    retry_after: None,
                    body: "<html>default backend - 404</html>",
                }),
            }
        };
        self.controllers[controller].jobs[job].states[write] = WriteState::Sent(response);
        Ok(())
    }

    fn limits(&self, role: Role) -> request::Limits {
        request::Limits {
            managed_by: role.managed_by(),
            max_endpoints: role.max_endpoints(&self.setup),
        }
    }

    /// The server executes a write. Returns the response; none after a conflict.
    fn execute(&mut self, role: Role, operation: &Operation, dry_run: bool) -> Result<Option<Response>, Violation> {
        request::check(operation, self.server.slice(name(operation)), &self.limits(role))?;
        let executed = self.server.execute(operation, dry_run);
        if executed.committed {
            self.played.writes += 1;
            self.played.digest = digest(self.played.digest, operation);
        }
        Ok(executed.response)
    }

    /// A response arrives at the engine; the last one of a plan ends the sync.
    pub(crate) fn respond(&mut self, controller: usize, job: usize, write: usize) -> Result<(), Violation> {
        let controller = &mut self.controllers[controller];
        let found = &mut controller.jobs[job];
        let operation = found.writes[write].operation.clone();
        let WriteState::Sent(response) = &mut found.states[write] else {
            return Ok(());
        };
        let response = response
            .take()
            .unwrap_or_else(|| self.server.read_live(name(&operation)));
        // A slice that is not ours is not kept, and neither is its version; nor is the result of a dry run, or of another epoch.
        let is_kept = !found.probe && found.epoch == controller.epoch;
        let is_own = |slice: &EndpointSlice| {
            label(&slice.metadata, MANAGED_BY_LABEL) == Some(controller.role.managed_by())
                && label(&slice.metadata, SERVICE_NAME_LABEL) == Some(&found.key.name)
        };
        let seen = match &response {
            Response::Stored(slice) | Response::Conflict(Some(slice)) if is_own(slice) && is_kept => {
                Some(slice.metadata.clone())
            }
            _ => None,
        };
        if let Response::Error {
            code: 429, retry_after, ..
        } = response
        {
            let delay = retry_after.filter(|seconds| *seconds > 0).unwrap_or(1);
            controller.close_gate(self.now + Duration::from_secs(delay));
        }
        let found = &controller.jobs[job];
        self.trace.print(|| {
            format!(
                "{} of {}: {}",
                name(&operation),
                found.key,
                describe_response(&response)
            )
        });
        let next = controller
            .engine
            .on_response(&controller.jobs[job], write, response, self.now);
        let found = &mut controller.jobs[job];
        found.states[write] = WriteState::Done {
            success: next.dependents,
        };
        found.failed |= !next.dependents;
        found.ended |= !next.others;
        if let Some(slice) = seen {
            controller.seen.apply(&slice);
        }
        if controller.jobs[job].is_done() {
            let job = controller.jobs.remove(job);
            controller.engine.on_writes_done(&job.key, self.now);
            queue::check_requeued(&job.key, job.failed, controller.engine.is_queued(&job.key))?;
        }
        Ok(())
    }

    /// The server executes a request that the client gave up. It was planned from an older state, so that only its content is
    /// checked, when it is sent.
    pub(crate) fn execute_late(&mut self, request: usize) {
        let operation = self.late.remove(request);
        let executed = self.server.execute(&operation, false);
        self.played.writes += usize::from(executed.committed);
        self.checks.gap.clear();
    }

    /// The controller crashes and starts again. The server may still execute requests in flight.
    pub(crate) fn crash(&mut self, controller: usize) {
        let role = self.controllers[controller].role;
        if self.server.objects().any(Object::is_undecodable) {
            // Its earlier version is not known after the start.
            self.checks.gap.clear();
        }
        let crashed = std::mem::replace(&mut self.controllers[controller], Controller::start(role, &self.setup));
        // A dry run leaves nothing to execute late.
        for job in crashed.jobs.iter().filter(|job| !job.probe) {
            for write in 0..job.writes.len() {
                // Half of the writes that could have been sent were.
                if matches!(job.states[write], WriteState::Unsent)
                    && write % 2 == 0
                    && job.writes[write].depends_on.is_empty()
                {
                    self.late.push(job.operation(write).clone());
                }
            }
        }
    }
}

fn choose(candidates: &[(usize, usize)], index: u8) -> Option<(usize, usize)> {
    (!candidates.is_empty()).then(|| candidates[usize::from(index) % candidates.len()])
}

/// The name of the slice that is written.
pub(crate) fn name(operation: &Operation) -> &str {
    match operation {
        Operation::Create(slice) | Operation::Update(slice) => slice.metadata.name.as_deref().unwrap_or_default(),
        Operation::Delete(deletion) => &deletion.name,
    }
}

/// FNV-1a over the text of an operation.
fn digest(before: u64, operation: &Operation) -> u64 {
    let seed = if before == 0 { 0xcbf2_9ce4_8422_2325 } else { before };
    let text = operation.to_string();
    text.bytes().fold(seed, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
