//! Two replicas of a controller, of which one leads.

use std::time::{Duration, Instant};

use crate::{
    checks::Violation,
    play::Play,
    schedule::{Controllers, Fate, Fault, LeaseFate, Schedule, Setup, Step},
    server::{LeaseResponse, NamespaceFault},
    shrink::shrink,
    trace::Trace,
};

const SETUP: Setup = Setup {
    controllers: Controllers::Services,
    replicas: 2,
    ..Setup::DEFAULT
};

/// A play after some steps.
fn played(steps: &[Step]) -> Play {
    let mut play = Play::new(SETUP, Instant::now(), Trace(false)).unwrap();
    for step in steps {
        play.step(*step).unwrap();
    }
    play
}

/// Which replicas may send writes.
fn leaders(play: &Play) -> [bool; 2] {
    [0, 1].map(|replica| play.replicas[replica].may_send(play.time(replica)))
}

fn sent(replica: u8) -> Step {
    let fate = Fate::Executed { reads_late: false };
    Step::Send {
        replica,
        write: 0,
        fate,
    }
}

const PLAN: [Step; 3] = [
    Step::Process { replica: 0 },
    Step::Deliver {
        replica: 0,
        stream: 0,
        events: 1,
    },
    Step::Process { replica: 0 },
];
const LATE: Step = Step::Advance { ms: 10_000 };

#[test]
fn a_leader_whose_lease_is_not_renewed_sends_nothing() {
    let mut play = played(&PLAN);
    assert_eq!(leaders(&play), [true, false]);
    assert!(!play.replicas[0].jobs.is_empty(), "a plan is in execution");
    play.step(LATE).unwrap();
    play.step(sent(0)).unwrap();
    assert_eq!((leaders(&play), play.played.writes), ([false, false], 0));
    play.finish().unwrap();
    assert!(play.played.writes > 0);
}

/// A frozen leader is replaced, and changes nothing when it continues (F18).
#[test]
fn a_frozen_leader_is_replaced() {
    for freeze in [
        Step::Freeze { replica: 0, ms: 40_000 },
        Step::Suspend { replica: 0, ms: 40_000 },
    ] {
        let mut play = played(&PLAN);
        play.step(freeze).unwrap();
        play.step(sent(0)).unwrap();
        assert_eq!(play.played.writes, 0, "it is frozen");
        play.step(Step::Run { ms: 30_000 }).unwrap();
        assert_eq!(leaders(&play), [false, true]);
        let writes = play.played.writes;
        assert!(writes > 0);
        play.step(Step::Run { ms: 30_000 }).unwrap();
        assert_eq!((leaders(&play), play.played.writes), ([false, true], writes));
        play.finish().unwrap();
    }
}

/// The monotonic clock of a suspended machine stands still, so that its writes wait until their timers end.
#[test]
fn a_suspended_machine_continues_where_it_was() {
    let mut play = played(&PLAN);
    let before = play.time(0).now;
    play.step(Step::Suspend { replica: 0, ms: 8_000 }).unwrap();
    play.step(Step::Advance { ms: 8_000 }).unwrap();
    assert_eq!(play.time(0).now, before);
    assert_eq!(leaders(&play), [true, false], "before the renew deadline");
    play.step(Step::Advance { ms: 2_000 }).unwrap();
    assert_eq!(leaders(&play), [false, false]);
}

#[test]
fn a_stopped_leader_releases_its_lease() {
    for (fate, expected) in [
        (LeaseFate::Executed, [false, true]),
        (LeaseFate::RequestLost, [false, false]),
    ] {
        let stop = Step::Stop {
            replica: 0,
            fate,
            pause_ms: 10_000,
        };
        let mut play = played(&[Step::Run { ms: 1_000 }, stop, Step::Run { ms: 5_000 }]);
        assert_eq!(leaders(&play), expected, "{fate:?}");
        play.finish().unwrap();
    }
}

#[test]
fn a_lost_renewal_is_repeated() {
    for fate in [
        LeaseFate::RequestLost,
        LeaseFate::ResponseLost,
        LeaseFate::Late,
        LeaseFate::Rejected,
    ] {
        let renewal = Step::SendLease { replica: 0, fate };
        let steps = [Step::Advance { ms: 2_000 }, renewal, Step::Run { ms: 7_900 }];
        assert_eq!(leaders(&played(&steps)), [true, false], "{fate:?}");
    }
}

#[test]
fn one_of_two_writes_of_a_lease_succeeds() {
    use slice_runtime::leader_election::{Elector, LeaderElection, LeaseTime};
    let mut server = crate::server::Server::default();
    let role = crate::engine::Role::Services;
    let mut elector = Elector::new(LeaderElection::new("lock", "a"));
    elector.on_read(None, LeaseTime::default(), 0.0);
    let create = elector.step(LeaseTime::default(), jiff::Timestamp::UNIX_EPOCH);
    let LeaseResponse::Written(stored) = server.execute_lease(role, &create) else {
        panic!("there is no lease yet");
    };
    assert!(matches!(server.execute_lease(role, &create), LeaseResponse::Failed));
    let replace = slice_runtime::leader_election::Step::Replace(Box::new(stored));
    assert!(matches!(
        server.execute_lease(role, &replace),
        LeaseResponse::Written(_)
    ));
    assert!(matches!(server.execute_lease(role, &replace), LeaseResponse::Failed));
}

/// Versions repeat after a restore (F14), so that the precondition of a late renewal can be met by the lease of another replica. Then
/// both lead until that one renews its lease, which is no violation.
#[test]
fn a_late_renewal_may_replace_a_lease_after_a_restore() {
    let send = |replica, fate| Step::SendLease { replica, fate };
    let respond = |replica| Step::RespondLease { replica };
    let executed = |replica| [send(replica, LeaseFate::Executed), respond(replica)];
    let pause = |ms| Step::Advance { ms };
    let late = send(0, LeaseFate::Late);
    let acquired_by_1 = [
        &[Step::Copy, pause(2_000)][..],
        &executed(0),
        &[Step::Restore, pause(2_000), late, pause(12_000)],
        &executed(1),
        &executed(1),
    ];
    let mut play = played(&acquired_by_1.concat());
    assert_eq!((leaders(&play), play.server.lease_epoch), ([false, true], 1));
    let acquired_by_0 = [
        &[Step::ExecuteLate { request: 0 }, Step::Process { replica: 0 }][..],
        &[respond(0), pause(3_000)],
        &executed(0),
        &executed(0),
    ];
    for step in acquired_by_0.concat() {
        play.step(step).unwrap();
    }
    assert_eq!((leaders(&play), play.server.lease_epoch), ([true, true], 2));
    play.step(Step::Run { ms: 5_000 }).unwrap();
    assert_eq!(leaders(&play), [true, false]);
    play.finish().unwrap();
}

/// Also with two replicas, each step that is not needed is removed.
#[test]
fn a_schedule_with_two_replicas_shrinks() {
    let mut schedule = Schedule::generate(3, &[Fault::Freeze, Fault::Lease], Some(2));
    schedule.setup = SETUP;
    schedule.steps.extend(PLAN);
    let fails = |schedule: &Schedule, start| {
        let mut play = Play::new(schedule.setup, start, Trace(false)).ok()?;
        let mut steps = schedule.steps.iter();
        steps.try_for_each(|step| play.step(*step)).ok()?;
        (!play.replicas[0].jobs.is_empty()).then(|| Violation::new("I8", "a plan is in execution"))
    };
    let violation = fails(&schedule, Instant::now()).unwrap();
    let (short, _) = shrink(&schedule, violation, Instant::now(), fails);
    assert!(short.steps.len() < 8, "{short}");
}

/// Both replicas crash, freeze, stop and lose requests (F17–F20).
#[test]
fn schedules_with_two_replicas_violate_nothing() {
    let faults = [
        Fault::Lease,
        Fault::Freeze,
        Fault::Suspend,
        Fault::Stop,
        Fault::Crash,
        Fault::Late,
    ];
    let mut terms = 0;
    for seed in 0..150 {
        let schedule = Schedule::generate(seed, &faults, Some(2));
        match crate::play::play(&schedule, Instant::now(), Trace(false)) {
            Ok(played) => terms += played.terms,
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    assert!(terms > 300, "{terms}");
}

/// A standby that has not seen what the leader before did plans nothing (I4, I11).
#[test]
fn a_new_leader_waits_for_a_held_stream() {
    let mut play = played(&[
        Step::Run { ms: 1_000 },
        Step::Hold { replica: 1, stream: 3 },
        Step::DeletePod { pod: 0 },
        Step::Run { ms: 2_000 },
        Step::Freeze { replica: 0, ms: 30_000 },
        Step::DeletePod { pod: 1 },
        Step::Run { ms: 25_000 },
    ]);
    let writes = play.played.writes;
    assert_eq!(leaders(&play), [false, true]);
    assert!(!play.replicas[1].engine.may_sync());
    play.step(Step::Release { replica: 1, stream: 3 }).unwrap();
    play.run(play.now + Duration::from_secs(1)).unwrap();
    assert!(play.replicas[1].engine.may_sync() && play.played.writes > writes);
}

/// A process whose writes hang ends without a response to them, and the next one continues.
#[test]
fn a_replica_that_stops_while_writes_hang_starts_again() {
    let steps = [
        Step::FailNamespace {
            namespace: 0,
            fault: Some(NamespaceFault::Hangs),
        },
        Step::Run { ms: 1_000 },
        Step::Stop {
            replica: 0,
            fate: LeaseFate::Executed,
            pause_ms: 0,
        },
    ];
    for replicas in [1, 2] {
        let setup = Setup { replicas, ..SETUP };
        let schedule = Schedule {
            setup,
            steps: steps.to_vec(),
        };
        let played = crate::play::play(&schedule, Instant::now(), Trace(false));
        assert!(played.is_ok_and(|played| played.writes > 0), "{replicas}");
    }
}
