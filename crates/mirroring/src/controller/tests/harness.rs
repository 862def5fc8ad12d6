//! The harness: a controller, and the slices that its plans are executed on.

use super::*;
use crate::fixtures;

/// A controller and all slices of the cluster.
pub(super) struct Harness {
    pub(super) controller: MirroringController,
    pub(super) slices: Vec<CompactSlice>,
    pub(super) reserved_names: Vec<String>,
    pub(super) now: Timestamp,
    metrics: MetricValues,
    context: EventContext,
    resource_version: u32,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_config(config())
    }

    pub(super) fn with_config(config: Config) -> Self {
        let controller = MirroringController::new(config);
        let mut metrics = MetricValues::default();
        for metric in controller.metrics() {
            metrics.register(metric);
        }
        Self {
            controller,
            slices: Vec::new(),
            reserved_names: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
            metrics,
            context: EventContext::default(),
            resource_version: 0,
        }
    }

    /// A harness with a Service without selector and an Endpoints object with these subsets, already mirrored.
    pub(super) fn mirrored(subsets: &str) -> Self {
        let mut harness = Self::new();
        harness.apply(&service(&Value::Null));
        harness.apply(&endpoints(subsets));
        harness.sync();
        harness
    }

    fn take_enqueued(&mut self) -> Vec<(String, Duration)> {
        let enqueued = self.context.take_enqueued().into_iter();
        enqueued
            .map(|enqueued| (enqueued.key.to_string(), enqueued.delay))
            .collect()
    }

    /// Handles a created or updated object. Returns the enqueued keys with their delays.
    pub(super) fn apply(&mut self, object: &Value) -> Vec<(String, Duration)> {
        let decode = match object["kind"].as_str().unwrap() {
            "Endpoints" => slim::decode_endpoints,
            "Service" => slim::decode_service,
            _ => slim::decode_pod_slice,
        };
        let decoded = decode(object.to_string().as_bytes()).unwrap();
        self.controller.apply(decoded.object, &mut self.context);
        self.take_enqueued()
    }

    /// Handles a deleted object. Returns the enqueued keys with their delays.
    pub(super) fn delete(&mut self, watch: Watch, name: &str) -> Vec<(String, Duration)> {
        let object = ObjectRef {
            namespace: "test".into(),
            name: name.into(),
            ..ObjectRef::default()
        };
        self.controller.delete(watch, &object, &mut self.context);
        self.take_enqueued()
    }

    /// The slices of the key with our managed-by label.
    fn existing(&self) -> Vec<CompactSlice> {
        let managed_by = &self.controller.config.managed_by;
        let existing = self.slices.iter().filter(|slice| {
            let labels = slice.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)) == Some(managed_by)
                && Key::from_slice_labels(&slice.metadata) == Some(key())
        });
        existing.cloned().collect()
    }

    /// Syncs the key without executing the plan.
    pub(super) fn sync_result(&mut self) -> SyncResult {
        let existing = self.existing();
        let context = SyncContext {
            existing: &existing,
            reserved_names: &self.reserved_names,
            now: self.now,
        };
        let result = self.controller.sync(&key(), &context).unwrap();
        for event in &result.events {
            let mut described = self.controller.events().iter();
            assert!(described.any(|spec| event.is_described_by(spec)), "{event:?}");
        }
        result
    }

    /// Syncs the key and executes the plan. Returns the writes as text.
    pub(super) fn sync(&mut self) -> String {
        let SyncResult { plan, .. } = self.sync_result();
        self.execute(&plan)
    }

    /// Executes a plan and reports its outcome to the controller. Returns the writes as text.
    pub(super) fn execute(&mut self, plan: &Plan) -> String {
        let mut outcome = SyncOutcome::default();
        let mut writes = Vec::new();
        for write in &plan.writes {
            let (count, verb) = match &write.operation {
                Operation::Create(_) => (&mut outcome.writes.created, "create"),
                Operation::Update(_) => (&mut outcome.writes.updated, "update"),
                Operation::Delete(_) => (&mut outcome.writes.deleted, "delete"),
            };
            *count += 1;
            writes.push(match &write.operation {
                Operation::Create(slice) | Operation::Update(slice) => format!("{verb} {}", format_slice(slice)),
                Operation::Delete(_) => verb.to_owned(),
            });
            write.operation.apply_to(&mut self.slices);
        }
        self.resource_version += 1;
        for slice in self.slices.iter_mut().filter(|slice| slice.metadata.uid.is_none()) {
            let name = slice.metadata.name.as_deref().unwrap();
            slice.metadata.uid = Some(format!("uid-{name}"));
            slice.metadata.resource_version = Some(self.resource_version.to_string());
        }
        self.controller.on_sync_result(&key(), &outcome);
        writes.join("; ")
    }

    /// The values of all metrics.
    pub(super) fn metrics(&mut self) -> &MetricValues {
        for measurement in self.controller.take_measurements() {
            self.metrics.apply(measurement);
        }
        &self.metrics
    }

    pub(super) fn advance_clock(&mut self, time: Duration) {
        self.now += time;
    }
}

/// Formats a slice in the notation of [`crate::fixtures`].
fn format_slice(slice: &CompactSlice) -> String {
    let endpoint = |endpoint: &slice_core::Endpoint| {
        let ready = endpoint.conditions.ready == Some(true);
        format!(" {}{}", if ready { "" } else { "!" }, endpoint.addresses[0])
    };
    let address_type = slice.address_type.as_ref().map_or("?", |known| known.as_str());
    let endpoints: String = slice.endpoints.iter().map(endpoint).collect();
    format!("{address_type}{endpoints} :{}", fixtures::ports(slice.ports.ports()))
}

/// The key, enqueued with this delay.
pub(super) fn enqueued_after(seconds: u64) -> Vec<(String, Duration)> {
    vec![(KEY.to_owned(), Duration::from_secs(seconds))]
}
