//! A stub controller, and an engine that runs it.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Decoded, Measurement, Measurements, MetricKind, MetricSpec, ObjectRef, SyncError, WatchSpec};
use slice_reconciler::{DeleteSlice, Operation, Plan};

use super::super::*;
use crate::watch::WatchEvent;

/// A controller for which every object is a key, and every sync returns the same plan.
pub(super) struct StubController {
    pub(super) plan: Plan,
    /// The names of the synced keys.
    synced: Vec<String>,
    /// Whether `before_sync` was called.
    prepared: bool,
    /// The label of slices that names their owner, instead of that of Services.
    pub(super) owner_label: Option<&'static str>,
    measurements: Measurements,
}

static METRICS: [&MetricSpec; 1] = [&CALLS];

static CALLS: MetricSpec = MetricSpec {
    name: "calls",
    help: "Calls of the controller",
    kind: MetricKind::Counter,
    labels: &["method"],
};

impl Controller for StubController {
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

    fn before_sync(&mut self, _context: &mut EventContext) {
        self.prepared = true;
    }

    fn sync(&mut self, key: &Key, _context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        assert!(self.prepared, "no key is synced before the controller was prepared");
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

/// An engine with complete lists and these keys enqueued. At most one key has writes in flight.
pub(super) fn engine(plan: Plan, keys: &[&str], now: Instant) -> (Engine<StubController>, Arc<Metrics>) {
    let mut engine = unlisted(plan);
    engine.handle_slice_event(WatchEvent::Init, now);
    engine.handle_slice_event(WatchEvent::InitDone { version: "1".into() }, now);
    list(&mut engine, keys, now);
    let metrics = Arc::clone(&engine.metrics);
    (engine, metrics)
}

/// An engine before its initial lists.
pub(super) fn unlisted(plan: Plan) -> Engine<StubController> {
    let config = EngineConfig {
        managed_by: "us".to_owned(),
        concurrency: NonZeroUsize::MIN,
        foreign_change_delay: Duration::ZERO,
        unconfirmed_removals: UNCONFIRMED_REMOVALS,
        dry_run: false,
        random: fastrand::Rng::with_seed(1),
    };
    let controller = StubController {
        plan,
        synced: Vec::new(),
        prepared: false,
        owner_label: None,
        measurements: Measurements::default(),
    };
    Engine::new(controller, vec![()], config, Arc::new(Metrics::new("stub", "stub")))
}

/// A slice with our managed-by label, of a Service.
pub(super) fn slice(name: &str, service: &str) -> EndpointSlice {
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

pub(super) fn apply_slice(engine: &mut Engine<StubController>, object: EndpointSlice, now: Instant) {
    let object_ref = ObjectRef::from(&object.metadata);
    engine.handle_slice_event(WatchEvent::Apply(Decoded { object_ref, object }), now);
}

/// A complete list of these objects.
pub(super) fn list(engine: &mut Engine<StubController>, keys: &[&str], now: Instant) {
    engine.handle_event(0, WatchEvent::Init, now);
    for key in keys {
        engine.handle_event(0, applied(key), now);
    }
    engine.handle_event(0, WatchEvent::InitDone { version: "1".into() }, now);
}

pub(super) fn applied(key: &str) -> WatchEvent<String> {
    WatchEvent::Apply(Decoded {
        object_ref: object_ref(key),
        object: key.to_owned(),
    })
}

pub(super) fn object_ref(name: &str) -> ObjectRef {
    ObjectRef {
        namespace: "ns".into(),
        name: name.into(),
        ..ObjectRef::default()
    }
}

/// Syncs due keys. Returns their names.
pub(super) fn synced(engine: &mut Engine<StubController>, now: Instant) -> Vec<String> {
    engine.process_due(9, now, Timestamp::now());
    let mut synced = std::mem::take(&mut engine.controller.synced);
    synced.sort();
    synced
}

pub(super) fn one_write() -> Plan {
    let operation = Operation::Delete(DeleteSlice::default());
    let after = Vec::new();
    Plan {
        writes: vec![Write {
            operation,
            depends_on: after,
        }],
        ..Plan::default()
    }
}
