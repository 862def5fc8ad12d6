//! Tests of the decisions.

use super::*;

const RENEW_DEADLINE: u64 = 10;

fn at(seconds: u64) -> LeaseTime {
    LeaseTime::from_origin(Duration::from_secs(seconds))
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn elector(identity: &str) -> Elector {
    Elector::new(LeaderElection::new("lock", identity))
}

/// The lease in the API server: a write succeeds with its resourceVersion only.
#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
}

impl Server {
    /// Executes a write. Returns the stored lease.
    fn write(&mut self, mut lease: Lease) -> Option<Lease> {
        let current = self
            .lease
            .as_ref()
            .and_then(|lease| lease.metadata.resource_version.clone());
        if lease.metadata.resource_version != current {
            return None;
        }
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease.clone());
        Some(lease)
    }

    fn spec(&self) -> LeaseSpec {
        self.lease.clone().and_then(|lease| lease.spec).unwrap()
    }

    /// Takes all steps of an instance at this time.
    fn run(&mut self, elector: &mut Elector, now: LeaseTime, time: Timestamp) {
        elector.expire(now);
        loop {
            match elector.step(now, time) {
                Step::Wait(_) => return,
                Step::Read => elector.on_read(self.lease.clone(), now, 0.0),
                Step::Create(lease) | Step::Replace(lease) => match self.write(*lease) {
                    Some(lease) => elector.on_written(lease, now, now, 0.0),
                    None => elector.on_failed(now, 0.0),
                },
            }
        }
    }
}

#[test]
fn the_record_is_that_of_client_go() {
    let (mut server, mut a) = (Server::default(), elector("a"));
    server.run(&mut a, at(0), time(100));
    let spec = server.spec();
    assert_eq!(spec.holder_identity.as_deref(), Some("a"));
    assert_eq!(
        (spec.lease_duration_seconds, spec.lease_transitions),
        (Some(15), Some(0))
    );
    assert_eq!(
        (spec.acquire_time, spec.renew_time),
        (Some(MicroTime(time(100))), Some(MicroTime(time(100))))
    );

    server.run(&mut a, at(2), time(102));
    let spec = server.spec();
    assert_eq!(
        (spec.acquire_time, spec.renew_time),
        (Some(MicroTime(time(100))), Some(MicroTime(time(102))))
    );

    let released = a.release(at(3), time(103)).unwrap();
    server.write(released).unwrap();
    let spec = server.spec();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_duration_seconds),
        (Some(""), Some(1))
    );
    assert_eq!(a.term(at(3)), None);

    let mut b = elector("b");
    server.run(&mut b, at(3), time(103));
    let spec = server.spec();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("b"), Some(1))
    );
    assert_eq!(spec.acquire_time, Some(MicroTime(time(103))));
}

#[test]
fn fields_of_others_are_kept() {
    let (mut server, mut a) = (Server::default(), elector("a"));
    let mut lease = elector("b").new_lease(time(0));
    lease.metadata.labels = Some([("team".to_owned(), "net".to_owned())].into());
    lease.spec.get_or_insert_default().strategy = Some("OldestEmulationVersion".to_owned());
    lease.spec.get_or_insert_default().holder_identity = None;
    server.write(lease.clone()).unwrap();
    server.run(&mut a, at(0), time(0));
    let stored = server.lease.clone().unwrap();
    assert_eq!(stored.metadata.labels, lease.metadata.labels);
    assert_eq!(server.spec().strategy.as_deref(), Some("OldestEmulationVersion"));
    assert!(a.term(at(0)).is_some());
}

/// The times in the record are those of another clock (F20).
#[test]
fn a_lease_is_taken_over_when_its_record_has_not_changed_for_its_duration() {
    for renew_time in [time(0), time(1_000_000)] {
        let (mut server, mut a, mut b) = (Server::default(), elector("a"), elector("b"));
        server.run(&mut a, at(0), renew_time);
        // B starts later, and cannot know how old the record is.
        server.run(&mut b, at(1_000), time(0));
        for now in 1_001..1_015 {
            server.run(&mut b, at(now), time(0));
            assert_eq!(b.term(at(now)), None, "{now}");
        }
        server.run(&mut b, at(1_015 + 2), time(0));
        assert_eq!(b.term(at(1_017)).map(|term| term.number), Some(1));
    }
}

#[test]
fn the_duration_in_the_record_counts() {
    let (mut server, mut b) = (Server::default(), elector("b"));
    let mut a = elector("a");
    a.config.lease_duration = Duration::from_secs(60);
    server.run(&mut a, at(0), time(0));
    for now in 0..60 {
        server.run(&mut b, at(now), time(0));
        assert_eq!(b.term(at(now)), None, "{now}");
    }
    server.run(&mut b, at(62), time(0));
    assert!(b.term(at(62)).is_some());
}

#[test]
fn the_term_ends_at_the_renew_deadline_after_the_last_renewal_was_sent() {
    let mut a = elector("a");
    let Step::Read = a.step(at(100), time(0)) else { panic!() };
    a.on_read(None, at(100), 0.0);
    let Step::Create(lease) = a.step(at(100), time(0)) else {
        panic!()
    };
    // The response takes 4 s.
    a.on_written(*lease, at(100), at(104), 0.0);
    let deadline = at(100 + RENEW_DEADLINE);
    assert_eq!(a.term(at(104)), Some(Term { number: 1, deadline }));
    let Step::Replace(lease) = a.step(at(104), time(4)) else {
        panic!()
    };
    a.on_failed(at(109), 0.0);
    assert_eq!(a.term(at(109)), Some(Term { number: 1, deadline }));
    // A response after the deadline comes too late.
    a.on_written(*lease, at(104), at(114), 0.0);
    assert_eq!(a.term(at(114)), None);
    a.expire(at(114));
    assert_eq!(a.term(at(105)), None, "it ended for good");
}

/// Another instance may have led in between, so that the earlier term cannot go on.
#[test]
fn a_leader_that_reads_another_record_ends_its_term() {
    let other = |holder: &str| {
        let mut lease = elector(holder).new_lease(time(0));
        lease.metadata.resource_version = Some("9".to_owned());
        lease
    };
    for read in [Some(other("b")), Some(other("")), None] {
        let (mut server, mut a) = (Server::default(), elector("a"));
        server.run(&mut a, at(0), time(0));
        a.on_failed(at(2), 0.0);
        assert!(a.term(at(2)).is_some());
        assert_eq!(a.step(at(4), time(4)), Step::Read);
        a.on_read(read.clone(), at(4), 0.0);
        assert_eq!(a.term(at(4)), None, "{read:?}");
    }
}

/// The response to a renewal was lost, but the renewal was executed.
#[test]
fn a_renewal_without_a_response_is_repeated_from_the_stored_lease() {
    let (mut server, mut a) = (Server::default(), elector("a"));
    server.run(&mut a, at(0), time(0));
    let Step::Replace(lease) = a.step(at(2), time(2)) else {
        panic!()
    };
    server.write(*lease).unwrap();
    a.on_failed(at(5), 0.0);
    server.run(&mut a, at(7), time(7));
    let deadline = at(7 + RENEW_DEADLINE);
    assert_eq!(a.term(at(7)), Some(Term { number: 1, deadline }));
}

#[test]
fn one_of_two_instances_that_try_together_leads() {
    let (mut server, mut a, mut b) = (Server::default(), elector("a"), elector("b"));
    for elector in [&mut a, &mut b] {
        elector.on_read(None, at(0), 0.0);
    }
    server.run(&mut a, at(0), time(0));
    server.run(&mut b, at(0), time(0));
    assert!(a.term(at(0)).is_some() && b.term(at(0)).is_none());
    server.run(&mut b, at(2), time(2));
    assert_eq!(b.holder(), Some("a"));
}

#[test]
fn a_lease_of_unknown_version_is_not_released() {
    let (mut server, mut a) = (Server::default(), elector("a"));
    assert_eq!(a.release(at(0), time(0)), None);
    server.run(&mut a, at(0), time(0));
    a.on_failed(at(2), 0.0);
    assert_eq!(a.release(at(2), time(2)), None);
}

#[test]
fn a_record_changed_by_admission_is_not_ours() {
    let mut a = elector("a");
    a.on_read(None, at(0), 0.0);
    a.on_written(elector("b").new_lease(time(0)), at(0), at(0), 0.0);
    assert_eq!(a.term(at(0)), None);
    assert_eq!(a.step(at(0), time(0)), Step::Wait(at(2)));
}

#[test]
fn attempts_are_spread() {
    let mut b = elector("b");
    b.on_read(Some(elector("a").new_lease(time(0))), at(0), 0.5);
    assert_eq!(b.step(at(0), time(0)), Step::Wait(at(0) + Duration::from_millis(2_200)));
}

/// The runner may have ended the term already, and would not end it again.
#[test]
fn a_renewal_whose_response_arrives_after_the_renew_deadline_does_not_continue_the_term() {
    let (mut server, mut a) = (Server::default(), elector("a"));
    server.run(&mut a, at(0), time(0));
    let Step::Replace(lease) = a.step(at(9), time(9)) else {
        panic!("a renewal is due");
    };
    let stored = server.write(*lease).unwrap();
    a.on_written(stored, at(9), at(RENEW_DEADLINE + 1), 0.0);
    assert_eq!((a.term(at(RENEW_DEADLINE + 1)), a.terms()), (None, 1));
    assert!(a.waits_for_writes(at(RENEW_DEADLINE + 1), 0));
    server.run(&mut a, at(RENEW_DEADLINE + 1), time(11));
    assert_eq!(a.term(at(RENEW_DEADLINE + 1)).map(|term| term.number), Some(2));
}

#[test]
fn an_acquisition_whose_response_arrives_after_the_renew_deadline_is_no_term() {
    let (mut server, mut a) = (Server::default(), elector("a"));
    a.on_read(None, at(0), 0.0);
    let Step::Create(lease) = a.step(at(0), time(0)) else {
        panic!("a create is due");
    };
    let stored = server.write(*lease).unwrap();
    a.on_written(stored, at(0), at(RENEW_DEADLINE), 0.0);
    assert_eq!((a.term(at(RENEW_DEADLINE)), a.terms()), (None, 0));
}
