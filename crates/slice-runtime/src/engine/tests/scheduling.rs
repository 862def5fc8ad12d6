//! How many keys are synced, and when the next one is; what a relist and a resync enqueue.

use slice_controller::{Decoded, Measurement, Measurements, MetricKind, MetricSpec, ObjectRef, SyncError, WatchSpec};
use slice_reconciler::{DeleteSlice, Operation, Plan};

use super::*;

/// Every object is a key, and every sync of one leads to this plan.
struct Stub {
    plan: Plan,
    synced: Vec<String>,
    /// The label by which slices name their owner, if it is not that of Services.
    owner_label: Option<&'static str>,
    measurements: Measurements,
}

static METRICS: [&MetricSpec; 1] = [&CALLS];

static CALLS: MetricSpec = MetricSpec {
    name: "calls",
    help: "Calls of the controller",
    kind: MetricKind::Counter,
    labels: &["method"],
};

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
        self.measurements.record_count(&CALLS, &["sync"], 1);
        Ok(self.plan.clone().into())
    }

    fn key_of(&self, slice: &ObjectMeta) -> Option<Key> {
        let Some(label) = self.owner_label else {
            return Key::from_slice_labels(slice);
        };
        let owner = slice.labels.as_ref()?.get(label)?;
        Some(Key::scoped("Pool", slice.namespace.as_deref()?, owner.as_str()))
    }

    fn on_sync_result(&mut self, _key: &Key, _outcome: &SyncOutcome) {
        self.measurements.record_count(&CALLS, &["on_sync_result"], 1);
    }

    fn metrics(&self) -> &'static [&'static MetricSpec] {
        &METRICS
    }

    fn take_measurements(&mut self) -> Vec<Measurement> {
        self.measurements.take()
    }
}

/// An engine with these keys enqueued, which writes one at a time.
fn engine(plan: Plan, keys: &[&str], now: Instant) -> (Engine<Stub>, Arc<Metrics>) {
    let mut engine = unlisted(plan);
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "1".into() }, now);
    list(&mut engine, keys, now);
    let metrics = Arc::clone(&engine.metrics);
    (engine, metrics)
}

/// An engine that has listed nothing yet.
fn unlisted(plan: Plan) -> Engine<Stub> {
    let config = EngineConfig {
        managed_by: "us".to_owned(),
        concurrency: NonZeroUsize::MIN,
        foreign_change_delay: Duration::ZERO,
        dry_run: false,
    };
    let stub = Stub {
        plan,
        synced: Vec::new(),
        owner_label: None,
        measurements: Measurements::default(),
    };
    Engine::new(stub, vec![()], config, Arc::new(Metrics::new("stub", "stub")))
}

/// A slice of ours that names a Service.
fn slice(name: &str, service: &str) -> EndpointSlice {
    let slice = serde_json::json!({
        "metadata": {
            "namespace": "ns", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "2",
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": [],
    });
    serde_json::from_value(slice).unwrap()
}

fn apply_slice(engine: &mut Engine<Stub>, object: EndpointSlice, now: Instant) {
    let object_ref = ObjectRef::from(&object.metadata);
    engine.handle_slice_event(WatchEvent::Apply(Decoded { object_ref, object }), now);
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
    WatchEvent::Apply(Decoded {
        object_ref: object_ref(key),
        object: key.to_owned(),
    })
}

fn object_ref(name: &str) -> ObjectRef {
    ObjectRef {
        namespace: "ns".into(),
        name: name.into(),
        ..ObjectRef::default()
    }
}

/// Syncs what is due; answers the names of the keys.
fn synced(engine: &mut Engine<Stub>, now: Instant) -> Vec<String> {
    engine.process_due(9, now, Timestamp::now());
    let mut synced = std::mem::take(&mut engine.controller.synced);
    synced.sort();
    synced
}

fn one_write() -> Plan {
    let operation = Operation::Delete(DeleteSlice::default());
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
    let work = engine.process_due(9, now, Timestamp::now());
    assert_eq!(["sync", "on_sync_result"].map(value), [Some("1".to_owned()), None]);
    engine.on_writes_done(&work.jobs[0].key, now);
    assert_eq!(
        ["sync", "on_sync_result"].map(value),
        ["1", "1"].map(|value| Some(value.to_owned()))
    );
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
    engine.handle_event(0, WatchEvent::Delete(object_ref("b")), now);
    assert_eq!(synced(&mut engine, now), [""; 0]);
    engine.handle_event(0, WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), ["a", "b", "c", "d"]);
    // Each deletion was concluded once.
    list(&mut engine, &["a"], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
    list(&mut engine, &[], now);
    assert_eq!(synced(&mut engine, now), ["a"]);
    // An event for an object that was never applied, such as one that cannot be decoded, reaches the controller.
    engine.handle_event(0, WatchEvent::Delete(object_ref("unknown")), now);
    assert_eq!(synced(&mut engine, now), ["unknown"]);
}

/// R6, I12: a resync takes the keys that desire something, and those with slices; nothing is kept of the others.
#[test]
fn resync_takes_keys_that_desire_something_or_have_slices() {
    let now = Instant::now();
    let summary = slice_reconciler::PlanStats {
        address_type: slice_core::AddressType::IPv4,
        changes: slice_reconciler::EndpointCounts::default(),
        endpoints: 0,
        slices: 0,
        min_slices: 0,
    };
    let desired = Plan {
        stats: vec![summary],
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

    apply_slice(&mut engine, slice("c-1", "c"), now);
    assert_eq!(synced(&mut engine, now), ["c"]);
    engine.resync_all(now);
    assert_eq!(synced(&mut engine, now), ["c"]);
}

/// CX3, I11: nothing waits for a resource that the API server lacks, but for its first list if it appears.
#[test]
fn nothing_waits_for_an_absent_resource() {
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
    // What is known stays known when it disappears, and while it is listed again.
    engine.handle_event(0, WatchEvent::Absent, now);
    assert_eq!((engine.is_synced(), synced(&mut engine, now)), (true, vec![]));
    engine.handle_event(0, WatchEvent::Init, now);
    assert!(engine.is_synced());
    engine.handle_event(0, WatchEvent::InitDone { version: "2".into() }, now);
    assert_eq!(synced(&mut engine, now), ["b"]);
}

/// CX1, CX2: the controller determines the key of a slice, which may have a scope.
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
    assert_eq!(engine.slices.of(&key).len(), 1);
}
