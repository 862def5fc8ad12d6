//! Scheduling: the concurrency limit, relists, resyncs, absent resources, and the metrics of the queue.

use slice_reconciler::Plan;

use super::{super::*, stub::*};
use crate::watch::WatchEvent;

#[test]
fn has_more_is_set_while_keys_are_due() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &["a", "b", "c"], now);
    let more: Vec<bool> = (0..2)
        .map(|_| engine.process_due(2, now, Timestamp::now()).has_more)
        .collect();
    assert_eq!(more, [true, false]);
}

/// At the concurrency limit, the only deadline is the one at which a key without a response gives its slot up.
#[test]
fn at_the_concurrency_limit_a_due_key_waits_for_a_slot() {
    let now = Instant::now();
    let (mut engine, _) = engine(one_write(), &["a", "b"], now);
    let batch = engine.process_due(9, now, Timestamp::now());
    let key = batch.jobs[0].key.clone();
    assert_eq!((batch.jobs.len(), batch.has_more), (1, false));
    let due_in = Duration::from_millis(700);
    let later = Enqueued::after(Key::new("ns", "later"), due_in);
    engine.queue.add(later, now);
    assert_eq!(engine.next_deadline(now), Some(now + Duration::from_millis(500)));
    engine.on_writes_done(&key, now);
    assert_eq!(engine.next_deadline(now), Some(now + due_in));
    assert!(!engine.process_due(9, now, Timestamp::now()).jobs.is_empty());
}

/// As in client-go, where the add of a queued key is ignored (R131).
#[test]
fn an_add_of_a_queued_key_is_not_counted() {
    let (_, metrics) = engine(Plan::default(), &["a", "b", "a", "a"], Instant::now());
    let metrics = metrics.page();
    assert!(metrics.contains("workqueue_adds_total{name=\"stub\"} 2\n"), "{metrics}");
}

#[test]
fn measurements_are_taken_after_a_sync_and_after_its_result() {
    let now = Instant::now();
    let (mut engine, metrics) = engine(one_write(), &["a"], now);
    let value = |method: &str| {
        let page = metrics.page();
        let sample = format!("stub_calls{{method=\"{method}\"}} ");
        page.lines()
            .find_map(|line| line.strip_prefix(&sample))
            .map(str::to_owned)
    };
    let batch = engine.process_due(9, now, Timestamp::now());
    assert_eq!(["sync", "on_sync_result"].map(value), [Some("1".to_owned()), None]);
    engine.on_writes_done(&batch.jobs[0].key, now);
    assert_eq!(
        ["sync", "on_sync_result"].map(value),
        ["1", "1"].map(|value| Some(value.to_owned()))
    );
}

/// During a relist, the known objects are partly old and partly new. Keys are deferred until it is complete, also if the list
/// starts again.
#[test]
fn keys_of_an_incomplete_relist_are_deferred() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &[], now);
    for _ in 0..2 {
        engine.handle_event(0, WatchEvent::Init, now);
        engine.handle_event(0, applied("new"), now);
        assert_eq!(synced(&mut engine, now), [""; 0]);
    }
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_event(0, WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), ["new"]);
}

/// A relist that starts before the last initial list is complete: the stub checks that it was prepared (W19).
#[test]
fn the_controller_is_prepared_before_the_first_sync_even_during_a_relist() {
    let now = Instant::now();
    let mut engine = unlisted(Plan::default());
    for event in [
        WatchEvent::Init,
        WatchEvent::InitDone { version: "1".into() },
        WatchEvent::Init,
    ] {
        engine.handle_slice_event(event, now);
    }
    list(&mut engine, &["a"], now);
    assert!(engine.is_listing());
    assert_eq!(synced(&mut engine, now), ["a"]);
}

/// An incomplete list before it has no effect on deletions (M24, R10).
#[test]
fn objects_missing_from_a_complete_relist_are_deleted() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &["a", "b", "c"], now);
    assert_eq!(synced(&mut engine, now), ["a", "b", "c"]);
    engine.handle_event(0, WatchEvent::Init, now);
    engine.handle_event(0, applied("d"), now);
    // The connection is lost, and the next list is complete.
    engine.handle_event(0, WatchEvent::Init, now);
    engine.handle_event(0, applied("a"), now);
    engine.handle_event(0, applied("b"), now);
    engine.handle_event(0, WatchEvent::Delete(object_ref("b")), now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_event(0, WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), ["a", "b", "c", "d"]);
    // Each deletion is handled once.
    list(&mut engine, &["a"], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
    list(&mut engine, &[], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
    // A Delete event of an object that was never applied, such as an undecodable one, reaches the controller.
    engine.handle_event(0, WatchEvent::Delete(object_ref("unknown")), now);
    assert_eq!(synced(&mut engine, now), ["unknown"]);
}

/// Other keys leave no state (R6, I12).
#[test]
fn resync_enqueues_keys_with_desired_or_existing_slices() {
    let now = Instant::now();
    let stats = slice_reconciler::PlanStats {
        address_type: slice_core::AddressType::IPv4,
        changes: slice_reconciler::EndpointCounts::default(),
        desired_endpoints: 0,
        slices: 0,
        min_slices: 0,
    };
    let desired = Plan {
        stats: vec![stats],
        ..Plan::default()
    };
    let (mut engine, _) = engine(desired, &["a", "b"], now);
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["a", "b"], "queued once");
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["a", "b"]);
    engine.controller.plan = Plan::default();
    engine.resync_all(now);
    assert_eq!(
        synced(&mut engine, now),
        ["a", "b"],
        "the last sync with desired slices was before this one"
    );
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    assert!(engine.active_keys.is_empty());

    apply_slice(&mut engine, slice("c-1", "c"), now);
    assert_eq!(synced(&mut engine, now), ["c"]);
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["c"]);
}

/// No sync waits for a resource that the API server lacks; if it appears, syncs wait for its first list (CX3, I11).
#[test]
fn no_sync_waits_for_an_absent_resource() {
    let now = Instant::now();
    let mut engine = unlisted(Plan::default());
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "1".into() }, now);
    assert!(!engine.is_synced());
    engine.handle_event(0, WatchEvent::Absent, now);
    assert!(engine.is_synced());
    // It appears, and disappears before its list is complete.
    engine.handle_event(0, WatchEvent::Init, now);
    engine.handle_event(0, applied("a"), now);
    assert_eq!((engine.is_synced(), synced(&mut engine, now)), (false, vec![]));
    engine.handle_event(0, WatchEvent::Absent, now);
    assert_eq!(synced(&mut engine, now), ["a"]);
    list(&mut engine, &["b"], now);
    assert_eq!(synced(&mut engine, now), ["a", "b"], "the complete list lacks a");
    // Known objects stay known when the resource disappears, and while it is listed again.
    engine.handle_event(0, WatchEvent::Absent, now);
    assert_eq!((engine.is_synced(), synced(&mut engine, now)), (true, vec![]));
    engine.handle_event(0, WatchEvent::Init, now);
    assert!(engine.is_synced());
    engine.handle_event(0, WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), ["b"]);
}

/// The key may have a scope (CX1, CX2).
#[test]
fn slices_belong_to_the_key_that_key_of_returns() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &[], now);
    engine.controller.owner_label = Some("example.com/pool");
    let mut pool_slice = slice("db-1", "db");
    let labels = pool_slice.metadata.labels.as_mut().unwrap();
    labels.insert("example.com/pool".to_owned(), "pool".to_owned());
    for slice in [pool_slice, slice("db-2", "db")] {
        apply_slice(&mut engine, slice, now);
    }
    assert_eq!(synced(&mut engine, now), ["pool"]);
    let key = Key::scoped("Pool", "ns", "pool");
    assert_eq!(engine.slices.keys().collect::<Vec<_>>(), [&key]);
    assert_eq!(engine.slices.get(&key).len(), 1);
}
