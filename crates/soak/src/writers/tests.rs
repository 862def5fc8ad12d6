use std::sync::LazyLock;

use super::*;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn at(milliseconds: u64) -> Instant {
    *START + Duration::from_millis(milliseconds)
}

fn times(milliseconds: &[u64]) -> Vec<Instant> {
    milliseconds.iter().map(|time| at(*time)).collect()
}

/// A replica that was started at 0.
fn record(renewals: &[u64], writes: &[u64]) -> ReplicaRecord {
    let renewed = |time: &u64| LeaseWrite {
        at: at(*time),
        holds: true,
    };
    let write = |time: &u64| SliceWrite {
        at: at(*time),
        verb: Verb::Update,
        slice: "web-1".to_owned(),
        status: Some(StatusCode::OK),
    };
    ReplicaRecord {
        starts: times(&[0]),
        lease_writes: renewals.iter().map(renewed).collect(),
        slice_writes: writes.iter().map(write).collect(),
        ..ReplicaRecord::default()
    }
}

fn messages(first: &ReplicaRecord, second: &ReplicaRecord) -> Vec<String> {
    let records = [(ReplicaId::ALL[0], first), (ReplicaId::ALL[1], second)];
    let violations = check(&records).into_iter();
    violations
        .map(|(slice, message)| {
            assert_eq!(slice, "web-1");
            message
        })
        .collect()
}

#[test]
fn writes_of_one_leader_after_the_other_are_accepted() {
    let first = record(&[100, 600, 1100], &[700, 3500]);
    let second = record(&[5200, 5700], &[5300, 6000]);
    assert_eq!(messages(&first, &second), [""; 0]);
}

#[test]
fn a_write_without_the_lease_is_a_violation() {
    let leader = record(&[100, 600], &[]);
    let standby = record(&[], &[700]);
    assert_eq!(
        messages(&leader, &standby),
        ["endpointslice-controller-2 sent Update of web-1 without the lease: it has not acquired it since its start"]
    );
}

#[test]
fn a_write_after_the_lease_duration_is_a_violation() {
    let found = messages(&record(&[100], &[4000, 4200]), &record(&[], &[]));
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with("it was renewed 4.1s before"), "{}", found[0]);
}

#[test]
fn a_write_after_the_release_is_a_violation() {
    let mut leader = record(&[100], &[400]);
    leader.lease_writes.push(LeaseWrite {
        at: at(300),
        holds: false,
    });
    let found = messages(&leader, &record(&[], &[]));
    assert!(found[0].ends_with("it was released 100.0ms before"), "{}", found[0]);
}

#[test]
fn a_write_after_another_replica_acquired_is_a_violation() {
    let found = messages(&record(&[100], &[600]), &record(&[500], &[]));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].ends_with("another replica acquired it 100.0ms before"),
        "{}",
        found[0]
    );
}

#[test]
fn a_lease_of_the_process_before_a_restart_does_not_count() {
    let mut restarted = record(&[100], &[1000, 2000]);
    restarted.starts.push(at(900));
    let found = messages(&restarted, &record(&[], &[]));
    // The first write may be of the process before.
    assert_eq!(found.len(), 1);
    assert!(
        found[0].ends_with("it has not acquired it since its start"),
        "{}",
        found[0]
    );
}

#[test]
fn requests_in_frozen_connections_count_as_sent_before() {
    let mut frozen = record(&[100], &[9000, 9100, 9200, 11_000]);
    frozen.connections_continued = times(&[9000]);
    assert_eq!(messages(&frozen, &record(&[], &[])).len(), 1);
}

#[test]
fn a_stopped_process_sends_few_requests_when_it_continues() {
    let mut stopped = record(&[100], &[9001, 9002]);
    stopped.process_continued = times(&[9000]);
    assert_eq!(messages(&stopped, &record(&[], &[])), [""; 0]);
    let mut stopped = record(&[100], &[9001, 9002, 9003]);
    stopped.process_continued = times(&[9000]);
    assert_eq!(messages(&stopped, &record(&[], &[])).len(), 1);
}

#[test]
fn a_lease_renewed_before_the_last_round_still_counts() {
    let mut leader = record(&[100, 50_000], &[50_100]);
    leader.forget_writes(at(50_200));
    assert_eq!((leader.slice_writes.len(), leader.lease_writes.len()), (0, 1));
    leader.slice_writes = record(&[], &[50_300]).slice_writes;
    assert_eq!(messages(&leader, &record(&[], &[])), [""; 0]);
}
