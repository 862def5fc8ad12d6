//! Plays of the engine, and of engines that are broken on purpose.

mod replicas;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use slice_controller::Key;
use slice_reconciler::{Operation, Write};
use slice_runtime::simulation::{NextWrites, Plan, Response};

use crate::{
    checks::Violation,
    engine::{Engine, Event},
    object::{Name, Resource},
    play::{Play, Played, play},
    replica::Job,
    schedule::{Controllers, Fate, Fault, Schedule, Setup, Step},
    shrink::shrink,
    trace::Trace,
};

fn played(seed: u64, faults: &[Fault]) -> Result<Played, Violation> {
    play(&Schedule::generate(seed, faults, None), Instant::now(), Trace(false))
}

/// The seed reproduces a play, whatever the order of hash maps.
#[test]
fn equal_seeds_lead_to_equal_plays() {
    for seed in 0..100 {
        assert_eq!(played(seed, &Fault::ALL), played(seed, &Fault::ALL), "seed {seed}");
    }
}

/// Lost, late and rejected writes, held streams, relists and crashes (I1–I8, I11, I12; F5–F7, F11, F16, F17, F23).
#[test]
fn schedules_without_foreign_writers_violate_nothing() {
    let faults = [
        Fault::Relist,
        Fault::Lost,
        Fault::Late,
        Fault::Reject,
        Fault::Hold,
        Fault::Crash,
    ];
    for seed in 0..200 {
        if let Err(violation) = played(seed, &faults) {
            panic!("seed {seed}: {violation}");
        }
    }
}

#[test]
fn a_schedule_shrinks_to_the_steps_that_violate_an_invariant() {
    let schedule = Schedule::generate(1, &[], None);
    let needed = [schedule.steps[3], schedule.steps[7]];
    let violation = Violation::new("I1", "both steps");
    let fails = |schedule: &Schedule, _| {
        let has_all = needed.iter().all(|step| schedule.steps.contains(step));
        has_all.then(|| violation.clone())
    };
    let (short, _) = shrink(&schedule, violation.clone(), Instant::now(), fails);
    assert_eq!(short.steps, needed);
}

/// How an engine is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// Deletions of pods are not handled.
    IgnoresDeletions,
    /// A key that failed is not requeued.
    LosesKeys,
    /// Keys that are never removed.
    GrowsQueue,
    /// Slices are written without a change after a resync.
    WritesAgain,
    /// Keys are synced before all lists are complete.
    PlansUnsynced,
    /// A slice is deleted after a resync although its endpoints are desired.
    DeletesDesired,
}

/// An engine with a defect around the real one.
struct Broken {
    inner: Box<dyn Engine>,
    defect: Defect,
    /// The slices as the watch has shown them.
    slices: BTreeMap<String, Operation>,
    is_resynced: bool,
    plans: usize,
}

fn plan(operation: Operation) -> Vec<Plan> {
    let write = Write {
        operation,
        depends_on: Vec::new(),
    };
    vec![Plan {
        key: Key::new("ns", "web"),
        writes: vec![write],
        probe: false,
    }]
}

fn update(slice: &k8s_openapi::api::discovery::v1::EndpointSlice) -> Operation {
    let compact = slice_core::CompactSlice::from_k8s(slice, &mut slice_core::Interner::default());
    Operation::Update(compact)
}

impl Engine for Broken {
    fn handle(&mut self, watch: usize, event: Event, now: Instant) {
        if let Event::Apply(crate::object::Object::Slice(slice)) = &event {
            let name = slice.metadata.name.clone().unwrap();
            self.slices.insert(name, update(slice));
        }
        let is_ignored = self.defect == Defect::IgnoresDeletions && watch == 1 && matches!(event, Event::Delete(_));
        if !is_ignored {
            self.inner.handle(watch, event, now);
        }
    }

    fn process_due(&mut self, now: Instant, time: Timestamp) -> Vec<Plan> {
        let slice = self.slices.first_key_value().map(|(_, slice)| slice.clone());
        match (self.defect, slice) {
            (Defect::WritesAgain, Some(slice)) if std::mem::take(&mut self.is_resynced) => plan(slice),
            (Defect::PlansUnsynced, _) if self.plans == 0 => {
                self.plans += 1;
                plan(update(&k8s_openapi::api::discovery::v1::EndpointSlice::default()))
            }
            (Defect::DeletesDesired, Some(Operation::Update(slice))) if std::mem::take(&mut self.is_resynced) => {
                plan(Operation::Delete(slice_reconciler::DeleteSlice {
                    namespace: "ns".to_owned(),
                    name: slice.metadata.name.unwrap(),
                    uid: slice.metadata.uid,
                    resource_version: slice.metadata.resource_version,
                }))
            }
            _ => self.inner.process_due(now, time),
        }
    }

    fn on_response(&mut self, job: &Job, write: usize, response: Response, now: Instant) -> NextWrites {
        self.inner.on_response(job, write, response, now)
    }

    fn on_writes_done(&mut self, key: &Key, now: Instant) {
        self.inner.on_writes_done(key, now);
    }

    fn resync(&mut self, now: Instant) {
        self.is_resynced = true;
        self.inner.resync(now);
    }

    fn take_confirmations(&mut self) -> Vec<(usize, Duration)> {
        self.inner.take_confirmations()
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.inner.next_deadline(now)
    }

    fn queue_len(&self) -> usize {
        let leaked = if self.defect == Defect::GrowsQueue { 10 } else { 0 };
        self.inner.queue_len() + leaked
    }

    fn is_queued(&self, key: &Key) -> bool {
        self.defect != Defect::LosesKeys && self.inner.is_queued(key)
    }

    fn waiting_keys(&self, now: Instant) -> Vec<Key> {
        self.inner.waiting_keys(now)
    }

    fn term(&self) -> Option<u64> {
        self.inner.term()
    }

    fn set_term(&mut self, term: Option<u64>, now: Instant) {
        self.inner.set_term(term, now);
    }

    fn may_sync(&self) -> bool {
        self.inner.may_sync()
    }
}

/// Plays steps with a broken engine. Returns the violated invariant.
fn violated(defect: Defect, listed: bool, steps: &[Step]) -> Option<&'static str> {
    let setup = Setup {
        controllers: Controllers::Services,
        listed,
        ..Setup::DEFAULT
    };
    let mut play = Play::new(setup, Instant::now(), Trace(false)).unwrap();
    let inner = std::mem::replace(
        &mut play.replicas[0].engine,
        crate::engine::Role::Services.start(&setup),
    );
    play.replicas[0].engine = Box::new(Broken {
        inner,
        defect,
        slices: BTreeMap::new(),
        is_resynced: false,
        plans: 0,
    });
    let result = steps
        .iter()
        .try_for_each(|step| play.step(*step))
        .and_then(|()| play.finish());
    result.err().map(|violation| violation.invariant)
}

const RUN: Step = Step::Run { ms: 2000 };

/// Each check that depends on the course of a play finds an engine that violates its invariant.
#[test]
fn broken_engines_are_found() {
    let fails = [
        Step::Process { replica: 0 },
        Step::Send {
            replica: 0,
            write: 0,
            fate: Fate::RequestLost,
        },
        Step::Respond { replica: 0, write: 0 },
    ];
    for (defect, listed, steps, expected) in [
        (Defect::None, true, &[RUN][..], None),
        (Defect::None, true, &fails, None),
        (
            Defect::IgnoresDeletions,
            true,
            &[RUN, Step::DeletePod { pod: 0 }],
            Some("I2"),
        ),
        (Defect::LosesKeys, true, &fails, Some("I12")),
        (Defect::GrowsQueue, true, &[RUN], Some("I12")),
        (
            Defect::WritesAgain,
            true,
            &[RUN, Step::Resync { replica: 0 }, RUN],
            Some("I6"),
        ),
        (
            Defect::PlansUnsynced,
            false,
            &[Step::Process { replica: 0 }],
            Some("I11"),
        ),
        (
            Defect::DeletesDesired,
            true,
            &[RUN, Step::Resync { replica: 0 }, RUN],
            Some("I4"),
        ),
    ] {
        assert_eq!(violated(defect, listed, steps), expected, "{defect:?}");
    }
}

/// A slice that is missing at the end, and one that no object demands (I1, I2, I5).
#[test]
fn wrong_slices_at_the_end_are_found() {
    let start = Instant::now();
    let setup = Setup {
        controllers: Controllers::Services,
        ..Setup::DEFAULT
    };
    let check = |change: &dyn Fn(&mut Play)| {
        let mut play = Play::new(setup, start, Trace(false)).unwrap();
        play.run(start + Duration::from_secs(2)).unwrap();
        change(&mut play);
        let roles = [crate::engine::Role::Services];
        let result = crate::checks::final_state::check(&play.server, roles.into_iter(), &setup);
        result.err().map(|violation| violation.invariant)
    };
    let slice = |play: &Play| Name::of(&play.server.slices().next().unwrap().metadata);
    assert_eq!(check(&|_| {}), None);
    assert_eq!(
        check(&|play| {
            let name = slice(play);
            play.server.delete(Resource::Slices, &name);
        }),
        Some("I1")
    );
    assert_eq!(
        check(&|play| {
            play.server.delete(Resource::Pods, &Name::new("ns", "p0"));
        }),
        Some("I2")
    );
    assert_eq!(
        check(&|play| {
            for pod in ["p0", "p1", "p2"] {
                play.server.delete(Resource::Pods, &Name::new("ns", pod));
            }
        }),
        Some("I5")
    );
}
