//! Drives an engine with the controller for Services against a fake API server, one step at a time.

use std::collections::BTreeMap;

use serde_json::Value;
use service_slices::controller::{Config, Input, ServiceController};
use slice_controller::{Decoded, WriteError};
use slice_reconciler::Operation;

use super::{
    super::*,
    fake_api::{self, FakeApi, RESOURCES, SLICES},
};
use crate::watch::WatchEvent;

/// An engine, its API server and the time.
pub(super) struct Harness {
    pub(super) engine: Engine<ServiceController>,
    pub(super) api: FakeApi,
    pub(super) now: Instant,
    /// The index of the next event of each watch in the log of the API server.
    positions: BTreeMap<&'static str, usize>,
    /// Plans in execution.
    pub(super) jobs: Vec<JobInFlight>,
    /// Events to record.
    pub(super) events: Vec<Event>,
    /// The number of successful writes.
    pub(super) writes: usize,
}

/// A plan in execution.
pub(super) struct JobInFlight {
    key: Key,
    pub(super) writes: Vec<Write>,
    pub(super) probe: bool,
    states: Vec<WriteState>,
}

#[derive(Debug)]
enum WriteState {
    Unsent,
    /// The API server has processed it; the engine has no result yet.
    Sent(Option<WriteResult>),
    Done {
        success: bool,
    },
}

/// A fault that is injected into a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The API server responds with an error.
    Rejected,
    /// The write is executed, and the response is lost.
    ResponseLost,
    /// Creates are rejected, because the namespace is terminating.
    NamespaceTerminating,
}

fn engine_config() -> EngineConfig {
    EngineConfig {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        concurrency: NonZeroUsize::new(5).unwrap(),
        foreign_change_delay: Duration::from_secs(1),
        unconfirmed_removals: UNCONFIRMED_REMOVALS,
        dry_run: false,
        random: fastrand::Rng::with_seed(1),
    }
}

impl Harness {
    pub(super) fn new(max_endpoints: usize, batch_period: Duration) -> Self {
        Self::restarted(FakeApi::default(), max_endpoints, batch_period)
    }

    /// A new engine on an API server with objects; the initial lists are complete.
    pub(super) fn restarted(api: FakeApi, max_endpoints: usize, batch_period: Duration) -> Self {
        let mut harness = Self::unlisted(api, max_endpoints, batch_period);
        for resource in RESOURCES {
            harness.list(resource);
        }
        harness
    }

    /// A new engine before its initial lists.
    pub(super) fn unlisted(api: FakeApi, max_endpoints: usize, batch_period: Duration) -> Self {
        let config = Config {
            managed_by: service_slices::MANAGED_BY.to_owned(),
            max_endpoints_per_slice: NonZeroUsize::new(max_endpoints).unwrap(),
            batch_period,
            service_selector: String::new(),
        };
        let controller = ServiceController::new(config);
        let metrics = Metrics::new("test", "test");
        let watches = controller.watches().iter().map(|spec| spec.id).collect();
        Self {
            engine: Engine::new(controller, watches, engine_config(), Arc::new(metrics)),
            api,
            now: Instant::now(),
            positions: BTreeMap::new(),
            jobs: Vec::new(),
            events: Vec::new(),
            writes: 0,
        }
    }

    /// A reflector lists its resource.
    pub(super) fn list(&mut self, resource: &'static str) {
        let (objects, version, position) = self.api.list(resource);
        self.handle(resource, WatchEvent::Init);
        for object in objects.iter().filter(|object| is_selected(resource, object)) {
            self.apply(resource, object);
        }
        self.handle(
            resource,
            WatchEvent::InitDone {
                version: version.as_str().into(),
            },
        );
        self.positions.insert(resource, position);
    }

    /// Delivers the next watch event of a resource. Returns whether there is one.
    pub(super) fn deliver(&mut self, resource: &'static str) -> bool {
        let position = self.positions.entry(resource).or_default();
        let Some((deleted, object)) = self.api.event(resource, *position) else {
            return false;
        };
        *position += 1;
        if deleted || !is_selected(resource, &object) {
            self.handle(resource, WatchEvent::Delete(fake_api::object_ref(&object)));
        } else {
            self.apply(resource, &object);
        }
        true
    }

    fn apply(&mut self, resource: &'static str, object: &Value) {
        let bytes = object.to_string();
        if resource == SLICES {
            let decoded = Decoded {
                object_ref: fake_api::object_ref(object),
                object: serde_json::from_str(&bytes).unwrap(),
            };
            self.engine.handle_slice_event(WatchEvent::Apply(decoded), self.now);
        } else {
            let watches = self.engine.controller.watches();
            let decoded = watches[watch_index(resource)].decode(bytes.as_bytes()).unwrap();
            self.handle(resource, WatchEvent::Apply(decoded));
        }
    }

    fn handle(&mut self, resource: &'static str, event: WatchEvent<Input>) {
        if resource != SLICES {
            return self.engine.handle_event(watch_index(resource), event, self.now);
        }
        let event = match event {
            WatchEvent::Init => WatchEvent::Init,
            WatchEvent::InitDone { version } => WatchEvent::InitDone { version },
            WatchEvent::Delete(object) => WatchEvent::Delete(object),
            _ => unreachable!("no such event of slices"),
        };
        self.engine.handle_slice_event(event, self.now);
    }

    /// Syncs due keys.
    pub(super) fn process_due(&mut self) {
        let batch = self
            .engine
            .process_due(usize::MAX, self.now, jiff::Timestamp::UNIX_EPOCH);
        self.events.extend(batch.events);
        for Job { key, writes, probe, .. } in batch.jobs {
            let states = writes.iter().map(|_| WriteState::Unsent).collect();
            self.jobs.push(JobInFlight {
                key,
                writes,
                probe,
                states,
            });
        }
    }

    /// Sends a write to the API server if its dependencies are done. Returns whether anything happened.
    pub(super) fn send(&mut self, job: usize, write: usize, fault: Fault) -> bool {
        let JobInFlight {
            key,
            writes,
            probe,
            states,
        } = &mut self.jobs[job];
        if !matches!(states[write], WriteState::Unsent) {
            return false;
        }
        let is_done = |index: &usize, expected: bool| matches!(&states[*index], WriteState::Done { success } if *success == expected);
        let dependencies = &writes[write].depends_on;
        let dependency_failed = dependencies.iter().any(|index| is_done(index, false));
        let ready = dependencies.iter().all(|index| is_done(index, true));
        if dependency_failed {
            states[write] = WriteState::Sent(Some(WriteResult::DependencyFailed));
            return true;
        }
        if !ready {
            return false;
        }
        let operation = &writes[write].operation;
        let is_create = matches!(operation, Operation::Create(_));
        let result = match fault {
            Fault::NamespaceTerminating if is_create => WriteResult::NamespaceTerminating,
            Fault::None | Fault::NamespaceTerminating => self.api.write(&key.namespace, operation, *probe),
            Fault::Rejected => failure(fault),
            Fault::ResponseLost => {
                self.api.write(&key.namespace, operation, *probe);
                failure(fault)
            }
        };
        let success = matches!(result, WriteResult::Stored(_) | WriteResult::Deleted);
        self.writes += usize::from(success && !*probe);
        states[write] = WriteState::Sent(Some(result));
        true
    }

    /// Reports the result of a write to the engine; the last result of a plan completes the sync. Returns whether there is a
    /// result.
    pub(super) fn report(&mut self, job: usize, write: usize) -> bool {
        let JobInFlight { key, states, .. } = &mut self.jobs[job];
        let WriteState::Sent(result) = &mut states[write] else {
            return false;
        };
        let Some(result) = result.take() else { return false };
        let success = matches!(result, WriteResult::Stored(_) | WriteResult::Deleted);
        states[write] = WriteState::Done { success };
        let key = key.clone();
        self.engine.on_write_result(&key, write, result, self.now);
        if self.jobs[job]
            .states
            .iter()
            .all(|state| matches!(state, WriteState::Done { .. }))
        {
            self.jobs.swap_remove(job);
            let events = self.engine.on_writes_done(&key, self.now);
            self.events.extend(events);
        }
        true
    }

    /// Runs until nothing is left to do at the current time.
    pub(super) fn run(&mut self) {
        self.run_with(Fault::None);
    }

    /// As [`run`](Self::run), with a fault in each write.
    pub(super) fn run_with(&mut self, fault: Fault) {
        loop {
            self.process_due();
            let delivered = RESOURCES.iter().any(|resource| self.deliver(resource));
            let written = (0..self.jobs.len()).any(|job| {
                (0..self.jobs[job].writes.len()).any(|write| self.send(job, write, fault) || self.report(job, write))
            });
            let due = self.engine.may_sync() && self.engine.queue.depth() > 0;
            if !delivered && !written && !due {
                return;
            }
        }
    }

    /// Runs and advances the time until the engine is quiescent, for a day at most.
    pub(super) fn run_until_quiescent(&mut self) {
        let end = self.now + Duration::from_secs(24 * 60 * 60);
        self.run();
        while let Some(deadline) = self.engine.next_deadline(self.now) {
            assert!(deadline < end, "not quiescent after a day");
            self.now = self.now.max(deadline);
            self.run();
        }
    }

    /// Advances the time, then runs.
    pub(super) fn advance(&mut self, time: Duration) {
        self.now += time;
        self.run();
    }

    /// The number of writes until the engine is quiescent.
    pub(super) fn writes_until_quiescent(&mut self) -> usize {
        let before = self.writes;
        self.run_until_quiescent();
        self.writes - before
    }

    /// The value of a metric without labels; 0 if it has none yet.
    pub(super) fn metric(&self, name: &str) -> String {
        let (page, prefix) = (self.engine.metrics.page(), format!("test_{name} "));
        let value = page.lines().find_map(|line| line.strip_prefix(&prefix));
        value.unwrap_or("0").to_owned()
    }

    /// The addresses of all endpoints of a Service, with their readiness.
    pub(super) fn published(&self, service: &str) -> Vec<(String, bool)> {
        self.api.published(service)
    }
}

/// Whether a watch selects an object: that of slices selects our managed-by label.
fn is_selected(resource: &str, object: &Value) -> bool {
    resource != SLICES || object["metadata"]["labels"][MANAGED_BY_LABEL] == service_slices::MANAGED_BY
}

/// The index of a watch of the controller.
fn watch_index(resource: &str) -> usize {
    RESOURCES.iter().position(|known| *known == resource).unwrap()
}

fn failure(fault: Fault) -> WriteResult {
    WriteResult::Failed {
        error: WriteError::Transport(format!("{fault:?}").into()),
        retry_after: None,
    }
}
