//! How many keys are synced, and when the next one is; what a relist and a resync enqueue.

use slice_controller::{Decoded, ObjectRef, SyncError, WatchSpec};
use slice_reconciler::{Deletion, Operation, Plan};

use super::*;

/// Every object is a key, and every sync of one leads to this plan.
struct Stub {
    plan: Plan,
    synced: Vec<String>,
}

impl Controller for Stub {
    type WatchId = ();
    type Object = String;

    fn watches(&self) -> Vec<WatchSpec<(), String>> {
        vec![WatchSpec::new((), "v1", "stubs", |name| name)]
    }

    fn apply(&mut self, name: String, context: &mut EventContext) {
        context.enqueue(Key::new("ns", name));
    }

    fn delete(&mut self, _watch: (), object: &ObjectRef, context: &mut EventContext) {
        context.enqueue(Key::from(object));
    }

    fn sync(&mut self, key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        self.synced.push(key.name.to_string());
        Ok(self.plan.clone().into())
    }
}

/// An engine with these keys enqueued, which writes one at a time.
fn engine(plan: Plan, keys: &[&str], now: Instant) -> (Engine<Stub>, prometheus::Registry) {
    let config = EngineConfig {
        managed_by: "us".to_owned(),
        concurrency: NonZeroUsize::MIN,
        foreign_change_delay: Duration::ZERO,
        dry_run: false,
    };
    let registry = prometheus::Registry::new();
    let metrics = Metrics::new(&registry, "stub", "stub").unwrap();
    let synced = Vec::new();
    let mut engine = Engine::new(Stub { plan, synced }, config, Arc::new(metrics));
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "1".into() }, now);
    list(&mut engine, keys, now);
    (engine, registry)
}

/// A complete list of these objects.
fn list(engine: &mut Engine<Stub>, keys: &[&str], now: Instant) {
    engine.handle_event(0, WatchEvent::Init, now);
    for key in keys {
        engine.handle_event(0, applied(key), now);
    }
    engine.handle_event(0, WatchEvent::InitDone { version: "1".into() }, now);
}

fn applied(key: &str) -> WatchEvent<String> {
    let object_ref = ObjectRef {
        namespace: "ns".into(),
        name: key.into(),
        ..ObjectRef::default()
    };
    WatchEvent::Apply(Decoded {
        object_ref,
        object: key.to_owned(),
    })
}

/// Syncs what is due; answers the names of the keys.
fn synced(engine: &mut Engine<Stub>, now: Instant) -> Vec<String> {
    engine.process_due(9, now, Timestamp::now());
    let mut synced = std::mem::take(&mut engine.controller.synced);
    synced.sort();
    synced
}

fn one_write() -> Plan {
    let operation = Operation::Delete(Deletion::default());
    let after = Vec::new();
    Plan {
        writes: vec![Write { operation, after }],
        ..Plan::default()
    }
}

#[test]
fn keys_that_are_left_are_told() {
    let now = Instant::now();
    let (mut engine, _) = engine(Plan::default(), &["a", "b", "c"], now);
    let more: Vec<bool> = (0..2)
        .map(|_| engine.process_due(2, now, Timestamp::now()).has_more)
        .collect();
    assert_eq!(more, [true, false]);
}

/// A key whose time has come is no reason to wake up as long as it has to wait for a writer.
#[test]
fn nothing_is_to_be_done_while_all_writers_are_busy() {
    let now = Instant::now();
    let (mut engine, _) = engine(one_write(), &["a", "b"], now);
    let work = engine.process_due(9, now, Timestamp::now());
    let key = work.jobs[0].key.clone();
    assert_eq!((work.jobs.len(), work.has_more), (1, false));
    engine.queue.add(Key::new("ns", "later"), Duration::from_secs(1), now);
    assert_eq!(engine.next_deadline(), None);
    engine.on_writes_done(&key, now);
    assert_eq!(engine.next_deadline(), Some(now + Duration::from_secs(1)));
    assert!(!engine.process_due(9, now, Timestamp::now()).jobs.is_empty());
}

/// R131: as in the work queues of Kubernetes, where a key that waits is not added.
#[test]
fn who_asks_for_what_was_asked_for_is_not_counted() {
    let (_, registry) = engine(Plan::default(), &["a", "b", "a", "a"], Instant::now());
    let metrics = prometheus::TextEncoder::new()
        .encode_to_string(&registry.gather())
        .unwrap();
    assert!(metrics.contains("workqueue_adds_total{name=\"stub\"} 2\n"), "{metrics}");
}

/// Between the first object of a relist and its end, what is known is half old and half new: keys that are concerned wait
/// for the end, also if the list has to begin again.
#[test]
fn nothing_is_synced_for_half_a_list() {
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

/// M24, R10: what a complete relist lacks was deleted, whatever an incomplete one before it contained.
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
    let WatchEvent::Apply(b) = applied("b") else {
        unreachable!("it is applied")
    };
    engine.handle_event(0, WatchEvent::Delete(b.object_ref), now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_event(0, WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), ["a", "b", "c", "d"]);
    // Each deletion was concluded once.
    list(&mut engine, &["a"], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
    list(&mut engine, &[], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
}

/// R6, I12: a resync takes the keys that desire something, and those with slices; nothing is kept of the others.
#[test]
fn resync_takes_keys_that_desire_something_or_have_slices() {
    let now = Instant::now();
    let summary = slice_reconciler::Summary {
        address_type: slice_core::AddressType::IPv4,
        changes: slice_reconciler::Changes::default(),
        endpoints: 0,
        slices: 0,
        slices_needed: 0,
    };
    let desired = Plan {
        summaries: vec![summary],
        ..Plan::default()
    };
    let (mut engine, _) = engine(desired, &["a", "b"], now);
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["a", "b"], "in the queue, once");
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["a", "b"]);
    engine.controller.plan = Plan::default();
    engine.resync_all(now);
    assert_eq!(
        synced(&mut engine, now),
        ["a", "b"],
        "the last one for which something is desired"
    );
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    assert!(engine.active_keys.is_empty());

    let slice = serde_json::json!({
        "metadata": {
            "namespace": "ns", "name": "c-1", "uid": "1", "resourceVersion": "2",
            "labels": {"kubernetes.io/service-name": "c"},
        },
        "addressType": "IPv4",
        "endpoints": [],
    });
    let object: EndpointSlice = serde_json::from_value(slice).unwrap();
    let object_ref = ObjectRef::from(&object.metadata);
    engine.handle_slice_event(WatchEvent::Apply(Decoded { object_ref, object }), now);
    assert_eq!(synced(&mut engine, now), ["c"]);
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["c"]);
}
