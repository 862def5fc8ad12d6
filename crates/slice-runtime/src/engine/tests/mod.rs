//! The engine and the controller for Services, played against a small API server in memory, in any order of things.

mod random;
mod stories;
mod world;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use service_slices::controller::{Config, Input, ServiceController};
use slice_controller::{Decoded, WriteError};
use slice_reconciler::Operation;

use super::*;
use world::{SLICES, World};

/// An engine, the API server that it works against, and the time.
struct Play {
    engine: Engine<ServiceController>,
    world: World,
    now: Instant,
    /// Up to which event each watch has told.
    told: BTreeMap<&'static str, usize>,
    /// Plans that are being carried out.
    jobs: Vec<JobInPlay>,
    events: Vec<Event>,
    writes: usize,
}

/// A plan that is being carried out.
struct JobInPlay {
    key: Key,
    writes: Vec<Write>,
    state: Vec<State>,
}

#[derive(Debug)]
enum State {
    Waiting,
    /// The server has done it, or refused; nobody has heard yet.
    Answering(Option<WriteResult>),
    Ended {
        done: bool,
    },
}

/// What the way to the server does to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The server refuses.
    Refused,
    /// The request is lost.
    Lost,
    /// The request is carried out and the answer is lost.
    AnswerLost,
    /// Nothing is created any more.
    NamespaceTerminating,
}

fn engine_config() -> EngineConfig {
    EngineConfig {
        managed_by: service_slices::MANAGED_BY.to_owned(),
        concurrency: NonZeroUsize::new(5).unwrap(),
        foreign_change_delay: Duration::from_secs(1),
        dry_run: false,
    }
}

impl Play {
    fn new(max: usize, batch_period: Duration) -> Self {
        Self::restarted(World::default(), max, batch_period)
    }

    /// A new engine for a world that has been there before.
    fn restarted(world: World, max: usize, batch_period: Duration) -> Self {
        let mut play = Self::unlisted(world, max, batch_period);
        for kind in world::KINDS {
            play.list(kind);
        }
        play
    }

    /// A new engine that has listed nothing yet.
    fn unlisted(world: World, max: usize, batch_period: Duration) -> Self {
        let config = Config {
            managed_by: service_slices::MANAGED_BY.to_owned(),
            max_endpoints_per_slice: NonZeroUsize::new(max).unwrap(),
            batch_period,
            service_selector: String::new(),
        };
        let controller = ServiceController::new(config);
        let metrics = Metrics::new("test", "test");
        let watches = controller.watches().iter().map(|spec| spec.id).collect();
        Self {
            engine: Engine::new(controller, watches, engine_config(), Arc::new(metrics)),
            world,
            now: Instant::now(),
            told: BTreeMap::new(),
            jobs: Vec::new(),
            events: Vec::new(),
            writes: 0,
        }
    }

    /// A watch lists everything anew.
    fn list(&mut self, kind: &'static str) {
        let (objects, version, position) = self.world.list(kind);
        self.hear(kind, WatchEvent::Init);
        for object in objects {
            self.hear_applied(kind, &object);
        }
        self.hear(
            kind,
            WatchEvent::InitDone {
                version: version.as_str().into(),
            },
        );
        self.told.insert(kind, position);
    }

    /// A watch tells the next event, if there is one.
    fn tell(&mut self, kind: &'static str) -> bool {
        let told = self.told.entry(kind).or_default();
        let Some((deleted, object)) = self.world.event(kind, *told) else {
            return false;
        };
        *told += 1;
        if deleted {
            self.hear(kind, WatchEvent::Delete(world::object_ref(&object)));
        } else {
            self.hear_applied(kind, &object);
        }
        true
    }

    fn hear_applied(&mut self, kind: &'static str, object: &Value) {
        let bytes = object.to_string();
        if kind == SLICES {
            let decoded = Decoded {
                object_ref: world::object_ref(object),
                object: serde_json::from_str(&bytes).unwrap(),
            };
            self.engine.handle_slice_event(WatchEvent::Apply(decoded), self.now);
        } else {
            let watches = self.engine.controller.watches();
            let decoded = watches[watch(kind)].decode(bytes.as_bytes()).unwrap();
            self.hear(kind, WatchEvent::Apply(decoded));
        }
    }

    fn hear(&mut self, kind: &'static str, event: WatchEvent<Input>) {
        if kind != SLICES {
            return self.engine.handle_event(watch(kind), event, self.now);
        }
        let event = match event {
            WatchEvent::Init => WatchEvent::Init,
            WatchEvent::InitDone { version } => WatchEvent::InitDone { version },
            WatchEvent::Delete(object) => WatchEvent::Delete(object),
            WatchEvent::Apply(_) | WatchEvent::Absent => unreachable!("no such event of slices"),
        };
        self.engine.handle_slice_event(event, self.now);
    }

    /// Syncs keys that are due.
    fn work(&mut self) {
        let work = self
            .engine
            .process_due(usize::MAX, self.now, jiff::Timestamp::UNIX_EPOCH);
        self.events.extend(work.events);
        for Job { key, writes } in work.jobs {
            let state = writes.iter().map(|_| State::Waiting).collect();
            self.jobs.push(JobInPlay { key, writes, state });
        }
    }

    /// The server gets a write whose turn it may be.
    fn send(&mut self, job: usize, write: usize, fault: Fault) -> bool {
        let JobInPlay { key, writes, state } = &mut self.jobs[job];
        if !matches!(state[write], State::Waiting) {
            return false;
        }
        let ended =
            |index: &usize, as_hoped: bool| matches!(&state[*index], State::Ended { done } if *done == as_hoped);
        let after = &writes[write].after;
        let failed = after.iter().any(|before| ended(before, false));
        let ready = after.iter().all(|before| ended(before, true));
        if failed {
            state[write] = State::Answering(Some(WriteResult::DependencyFailed));
            return true;
        }
        if !ready {
            return false;
        }
        let creates = matches!(writes[write].operation, Operation::Create(_));
        let answer = match fault {
            Fault::NamespaceTerminating if creates => WriteResult::NamespaceTerminating,
            Fault::None | Fault::NamespaceTerminating => self.world.write(&key.namespace, &writes[write].operation),
            Fault::Refused | Fault::Lost => failure(fault),
            Fault::AnswerLost => {
                self.world.write(&key.namespace, &writes[write].operation);
                failure(fault)
            }
        };
        self.writes += usize::from(matches!(answer, WriteResult::Stored(_) | WriteResult::Deleted));
        state[write] = State::Answering(Some(answer));
        true
    }

    /// The answer to a write arrives; the last one ends the job.
    fn answer(&mut self, job: usize, write: usize) -> bool {
        let JobInPlay { key, state, .. } = &mut self.jobs[job];
        let State::Answering(answer) = &mut state[write] else {
            return false;
        };
        let Some(answer) = answer.take() else { return false };
        let done = matches!(answer, WriteResult::Stored(_) | WriteResult::Deleted);
        state[write] = State::Ended { done };
        let key = key.clone();
        self.engine.on_write_result(&key, write, answer);
        if self.jobs[job]
            .state
            .iter()
            .all(|state| matches!(state, State::Ended { .. }))
        {
            self.jobs.swap_remove(job);
            let events = self.engine.on_writes_done(&key, self.now);
            self.events.extend(events);
        }
        true
    }

    /// Does everything that can be done without time passing.
    fn run(&mut self) {
        self.run_with(Fault::None);
    }

    fn run_with(&mut self, fault: Fault) {
        loop {
            self.work();
            let told = world::KINDS.iter().any(|kind| self.tell(kind));
            let moved = (0..self.jobs.len()).any(|job| {
                (0..self.jobs[job].writes.len()).any(|write| self.send(job, write, fault) || self.answer(job, write))
            });
            let due = self.engine.is_synced() && self.engine.queue.depth() > 0;
            if !told && !moved && !due {
                return;
            }
        }
    }

    /// Lets time pass until nothing is left to be done, for a day at most.
    fn rest(&mut self) {
        let end = self.now + Duration::from_secs(24 * 60 * 60);
        self.run();
        while let Some(deadline) = self.engine.next_deadline() {
            assert!(deadline < end, "it does not come to rest");
            self.now = self.now.max(deadline);
            self.run();
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.run();
    }

    /// How many writes it takes to come to rest.
    fn writes_until_rest(&mut self) -> usize {
        let before = self.writes;
        self.rest();
        self.writes - before
    }

    /// Whether something happened that no watch has told yet.
    fn has_untold(&self) -> bool {
        world::KINDS.iter().any(|kind| {
            self.world
                .event(kind, self.told.get(kind).copied().unwrap_or_default())
                .is_some()
        })
    }

    /// Addresses of all endpoints of a Service, with whether they are ready.
    fn published(&self, service: &str) -> Vec<(String, bool)> {
        self.world.published(service)
    }
}

/// The place of a watch of the controller.
fn watch(kind: &str) -> usize {
    world::KINDS.iter().position(|known| *known == kind).unwrap()
}

fn failure(fault: Fault) -> WriteResult {
    WriteResult::Failed {
        error: WriteError::Transport(format!("{fault:?}").into()),
        retry_after: None,
    }
}

fn service(name: &str, selects: &str) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": name},
        "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "selector": {"app": selects}, "ports": [{"port": 80}]},
    })
}

fn pod(name: &str, ip: u8, ready: bool) -> Value {
    let ready = if ready { "True" } else { "False" };
    json!({
        "metadata": {"namespace": "ns", "name": name, "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": []},
        "status": {"podIPs": [{"ip": format!("10.0.0.{ip}")}], "conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn node(name: &str, zone: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}})
}
