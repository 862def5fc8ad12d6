//! The writes of a play: plans, requests and responses.

use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_core::well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL};
use slice_reconciler::Operation;
use slice_runtime::simulation::{Response, WRITE_TIMEOUT};

use crate::{
    checks::{Violation, gate, leadership, plan, queue, request},
    engine::Role,
    object::{Object, label},
    play::{Late, Play},
    replica::{Job, Replica, WriteState},
    schedule::Fate,
    server::{NAMESPACE_TERMINATING, NamespaceFault, Request},
    trace::{describe, describe_response},
};

impl Play {
    /// Syncs due keys of a replica. Returns whether there are plans, or its phase or term changed.
    pub(crate) fn process(&mut self, replica: usize) -> Result<bool, Violation> {
        let mut progress = self.end_phase(replica)?;
        if !self.is_running(replica) {
            return Ok(progress);
        }
        progress |= self.follow_term(replica)?;
        if !self.is_running(replica) {
            return Ok(progress);
        }
        let time = self.time(replica);
        let replica = &mut self.replicas[replica];
        let plans = replica.engine.process_due(time.now, time.wall);
        let has_plans = !plans.is_empty();
        gate::check(has_plans, replica.closed_until, time.now)?;
        if has_plans && replica.candidate.is_some() {
            leadership::check_plan(replica.held(), &replica.delivered())?;
        }
        for plan in plans {
            for write in &plan.writes {
                self.trace
                    .print(|| format!("{} is planned: {}", plan.key, describe(&write.operation)));
            }
            plan::check(&plan, replica.is_synced(), &replica.seen)?;
            self.checks.rewrites.planned(replica.role, &plan.key, self.now)?;
            replica.jobs.push(Job::new(plan, replica.epoch, replica.engine.term()));
        }
        Ok(progress || has_plans)
    }

    /// A write arrives at the server, or is lost.
    pub(crate) fn send(&mut self, replica: usize, job: usize, write: usize, fate: Fate) -> Result<(), Violation> {
        let time = self.time(replica);
        let role = self.replicas[replica].role;
        let may_send = self.replicas[replica].may_send(time);
        let found = &self.replicas[replica].jobs[job];
        let (request, probe) = (found.request(write), found.probe);
        let is_skipped = found.is_skipped(write);
        if let Some(candidate) = self.replicas[replica]
            .candidate
            .as_ref()
            .filter(|_| may_send && !is_skipped)
        {
            let terms = (found.term, candidate.leadership.term(time.lease));
            leadership::check_write(self.replicas[replica].held(), terms, self.now)?;
        }
        let is_of_epoch = self.replicas[replica].is_of_epoch(found);
        let fate = self.server.overload.map_or(fate, |overload| fate.rejected_by(overload));
        let fault = self.server.namespace_fault;
        let fault = fault.filter(|(namespace, _)| *namespace == request.slice.namespace && !is_skipped);
        let mut due = time.now;
        let response = match (fault, fate) {
            _ if is_skipped => Some(Response::DependencyFailed),
            _ if !may_send => Some(Response::LeaseLost),
            (Some((_, NamespaceFault::Denied)), _) => Some(rejected(403, None)),
            (Some((_, NamespaceFault::Hangs)), _) => {
                due += WRITE_TIMEOUT;
                Some(Response::Timeout)
            }
            (None, Fate::Executed { reads_late }) => {
                let response = self.execute(role, &request, probe, is_of_epoch)?;
                response.or_else(|| (!reads_late).then(|| self.server.read_live(&request.slice)))
            }
            (None, Fate::RequestLost) => Some(Response::Timeout),
            (None, Fate::ResponseLost) => {
                self.execute(role, &request, probe, is_of_epoch)?;
                Some(Response::Timeout)
            }
            (None, Fate::Late) => {
                request::check(&request.operation, None, &self.limits(role))?;
                // A dry run leaves nothing to execute late.
                self.late.extend((!probe).then(|| Late::Write(Box::new(request))));
                Some(Response::Timeout)
            }
            (None, Fate::Rejected { code, retry_after }) => Some(rejected(code, retry_after)),
            (None, Fate::NotFoundByProxy) => Some(Response::Error {
                code: 404,
                retry_after: None,
                body: "<html>default backend - 404</html>",
            }),
        };
        self.replicas[replica].jobs[job].states[write] = WriteState::Sent { response, due };
        Ok(())
    }

    fn limits(&self, role: Role) -> request::Limits {
        request::Limits {
            managed_by: role.managed_by(),
            max_endpoints: role.max_endpoints(&self.setup),
        }
    }

    /// The server executes a write. Returns the response; none after a conflict.
    fn execute(
        &mut self,
        role: Role,
        request: &Request,
        dry_run: bool,
        is_of_epoch: bool,
    ) -> Result<Option<Response>, Violation> {
        let stored = self.server.slice(&request.slice).filter(|_| is_of_epoch);
        request::check(&request.operation, stored, &self.limits(role))?;
        let executed = self.server.execute(request, dry_run);
        if executed.committed {
            self.played.writes += 1;
            self.played.active_writes += usize::from(!self.server.is_terminating(request.slice.namespace));
            self.played.digest = digest(self.played.digest, &request.operation);
        }
        Ok(executed.response)
    }

    /// A response arrives at the engine; the last one of a plan ends the sync.
    pub(crate) fn respond(&mut self, replica: usize, job: usize, write: usize) -> Result<(), Violation> {
        let (index, time) = (replica, self.time(replica));
        let now = time.now;
        let replica = &mut self.replicas[replica];
        let is_lost = replica.is_lost(time);
        let found = &mut replica.jobs[job];
        let slice = found.request(write).slice;
        let WriteState::Sent { response, .. } = &mut found.states[write] else {
            return Ok(());
        };
        let response = match response.take() {
            Some(Response::DependencyFailed) => Response::DependencyFailed,
            _ if is_lost => Response::LeaseLost,
            response => response.unwrap_or_else(|| self.server.read_live(&slice)),
        };
        // A slice that is not ours is not kept, and neither is its version; nor is the result of a dry run, or of another epoch.
        let is_kept = !found.probe && found.epoch == replica.epoch;
        let is_own = |slice: &EndpointSlice| {
            label(&slice.metadata, MANAGED_BY_LABEL) == Some(replica.role.managed_by())
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
            replica.close_gate(now + Duration::from_secs(delay));
        }
        let failed = match &response {
            Response::Stored(_) | Response::Deleted | Response::DependencyFailed => false,
            // Nothing can be created in the namespace any more.
            Response::Error { body, .. } => *body != NAMESPACE_TERMINATING,
            Response::Conflict(_) | Response::UndecodableConflict(_) | Response::Timeout | Response::LeaseLost => true,
        };
        let found = &replica.jobs[job];
        self.trace
            .print(|| format!("{} of {}: {}", slice.name, found.key, describe_response(&response)));
        let next = replica.engine.on_response(&replica.jobs[job], write, response, now);
        let found = &mut replica.jobs[job];
        found.states[write] = WriteState::Done {
            success: next.dependents,
        };
        found.failed |= failed;
        found.ended |= !next.others;
        if let Some(slice) = seen {
            replica.seen.apply(&slice);
        }
        if replica.jobs[job].is_done() {
            let job = replica.jobs.remove(job);
            replica.engine.on_writes_done(&job.key, now);
            queue::check_requeued(&job.key, job.failed, replica.engine.is_queued(&job.key))?;
            self.end_phase(index)?;
        }
        Ok(())
    }

    /// The server executes a request that the client gave up. It was planned from an older state, so that only its content is
    /// checked, when it is sent.
    pub(crate) fn execute_late(&mut self, request: usize) {
        match self.late.remove(request) {
            Late::Write(request) => {
                let executed = self.server.execute(&request, false);
                self.played.writes += usize::from(executed.committed);
                self.checks.gap.clear();
            }
            Late::Lease(role, step) => drop(self.server.execute_lease(role, &step)),
        }
    }

    /// The replica crashes and starts again. The server may still execute requests in flight.
    pub(crate) fn crash(&mut self, replica: usize) {
        let may_send = self.replicas[replica].may_send(self.time(replica));
        let crashed = self.restart(replica);
        // A dry run leaves nothing to execute late.
        for job in crashed.jobs.iter().filter(|job| !job.probe && may_send) {
            for write in 0..job.writes.len() {
                // Half of the writes that could have been sent were.
                if matches!(job.states[write], WriteState::Unsent)
                    && write % 2 == 0
                    && job.writes[write].depends_on.is_empty()
                {
                    self.late.push(Late::Write(Box::new(job.request(write))));
                }
            }
        }
    }

    /// The process of a replica ends, and another one starts. Returns what was lost.
    pub(crate) fn restart(&mut self, replica: usize) -> Replica {
        self.checks.rewrites.allow_changes(4);
        if self.server.objects().any(Object::is_undecodable) {
            // Its earlier version is not known after the start.
            self.checks.gap.clear();
        }
        let now = self.time(replica).now;
        let ended = &self.replicas[replica];
        let started = Replica::start(ended.role, &self.setup, ended.place.next(), now);
        std::mem::replace(&mut self.replicas[replica], started)
    }
}

/// The response of a filter or webhook.
fn rejected(code: u16, retry_after: Option<u64>) -> Response {
    Response::Error {
        code,
        retry_after,
        body: "rejected",
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
