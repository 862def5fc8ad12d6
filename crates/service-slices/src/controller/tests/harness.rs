//! Drives a controller without a runtime.

use std::collections::BTreeMap;

use serde_json::Value;
use slice_controller::MetricValues;
use slice_core::CompactSlice;
use slice_reconciler::Operation;

use super::*;

/// A controller with the slices that it has written.
pub(super) struct Harness {
    pub(super) controller: ServiceController,
    metrics: MetricValues,
    pub(super) context: EventContext,
    pub(super) slices: BTreeMap<String, CompactSlice>,
    version: i64,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_batch_period(Duration::ZERO)
    }

    pub(super) fn with_batch_period(batch_period: Duration) -> Self {
        let config = Config {
            managed_by: crate::MANAGED_BY.to_owned(),
            max_endpoints_per_slice: NonZeroUsize::new(100).unwrap(),
            batch_period,
            service_selector: String::new(),
        };
        let controller = ServiceController::new(config);
        let mut metrics = MetricValues::default();
        for metric in controller.metrics() {
            metrics.register(metric);
        }
        Self {
            controller,
            metrics,
            context: EventContext::default(),
            slices: BTreeMap::new(),
            version: 0,
        }
    }

    /// Takes the enqueued keys with their delays.
    pub(super) fn take_enqueued(&mut self) -> Vec<(String, Duration)> {
        let enqueued = self.context.take_enqueued().into_iter();
        let mut enqueued: Vec<_> = enqueued
            .map(|enqueued| (enqueued.key.to_string(), enqueued.delay))
            .collect();
        enqueued.sort();
        enqueued
    }

    fn take_enqueued_keys(&mut self) -> Vec<String> {
        self.take_enqueued().into_iter().map(|(key, _)| key).collect()
    }

    /// Applies a pod. Returns, for each key that this enqueues, whether it is a removal.
    pub(super) fn apply_and_take_removals(&mut self, pod: &Value) -> Vec<bool> {
        let decoded = slim::decode_pod(pod.to_string().as_bytes()).unwrap();
        self.controller.apply(decoded.object, &mut self.context);
        self.take_removals()
    }

    /// Deletes a pod. Returns, for each key that this enqueues, whether it is a removal.
    pub(super) fn delete_and_take_removals(&mut self, name: &str) -> Vec<bool> {
        let pod = ObjectRef {
            namespace: "ns".into(),
            name: name.into(),
            ..ObjectRef::default()
        };
        self.controller.delete(Watch::Pods, &pod, &mut self.context);
        self.take_removals()
    }

    fn take_removals(&mut self) -> Vec<bool> {
        let enqueued = self.context.take_enqueued();
        enqueued.into_iter().map(|enqueued| enqueued.removal).collect()
    }

    /// Applies an object. Returns the keys that this enqueues.
    pub(super) fn apply(&mut self, object: &Value) -> Vec<String> {
        let decode = match object["kind"].as_str().unwrap() {
            "Pod" => slim::decode_pod,
            "Service" => slim::decode_service,
            _ => slim::decode_node,
        };
        let decoded = decode(object.to_string().as_bytes()).unwrap();
        self.controller.apply(decoded.object, &mut self.context);
        self.take_enqueued_keys()
    }

    /// Deletes an object. Returns the keys that this enqueues.
    pub(super) fn delete(&mut self, watch: Watch, name: &str) -> Vec<String> {
        let object = ObjectRef {
            namespace: if watch == Watch::Nodes { "" } else { "ns" }.into(),
            name: name.into(),
            ..ObjectRef::default()
        };
        self.controller.delete(watch, &object, &mut self.context);
        self.take_enqueued_keys()
    }

    /// Updates the topology cache. Returns the keys that this enqueues.
    pub(super) fn before_sync(&mut self) -> Vec<String> {
        self.controller.before_sync(&mut self.context);
        let enqueued = self.context.take_enqueued().into_iter();
        enqueued.map(|enqueued| enqueued.key.to_string()).collect()
    }

    /// Syncs a Service without executing the plan.
    pub(super) fn plan(&mut self, name: &str) -> SyncResult {
        let of_service = |slice: &&CompactSlice| Key::from_slice_labels(&slice.metadata) == Some(Key::new("ns", name));
        let existing: Vec<CompactSlice> = self.slices.values().filter(of_service).cloned().collect();
        let context = SyncContext {
            existing: &existing,
            reserved_names: &[],
            now: Timestamp::UNIX_EPOCH,
        };
        let result = self.controller.sync(&Key::new("ns", name), &context).unwrap();
        for event in &result.events {
            let mut described = self.controller.events().iter();
            assert!(described.any(|spec| event.is_described_by(spec)), "{event:?}");
        }
        result
    }

    /// Syncs a Service and executes the plan. Returns the writes, such as `create 2` for two endpoints, and the event messages.
    pub(super) fn sync(&mut self, name: &str) -> (Vec<String>, Vec<String>) {
        let SyncResult { plan, events, .. } = self.plan(name);
        let mut outcome = SyncOutcome::default();
        let mut writes = Vec::new();
        for write in plan.writes {
            writes.push(self.execute(write.operation, &mut outcome));
        }
        self.controller.on_sync_result(&Key::new("ns", name), &outcome);
        (writes, events.into_iter().map(|event| event.message).collect())
    }

    fn execute(&mut self, operation: Operation, outcome: &mut SyncOutcome) -> String {
        self.version += 1;
        match operation {
            Operation::Create(mut slice) => {
                outcome.writes.created += 1;
                slice.metadata.uid = Some(format!("uid-{}", self.version));
                self.store(slice, "create")
            }
            Operation::Update(slice) => {
                outcome.writes.updated += 1;
                self.store(slice, "update")
            }
            Operation::Delete(delete) => {
                outcome.writes.deleted += 1;
                self.slices.remove(&delete.name);
                "delete".to_owned()
            }
        }
    }

    fn store(&mut self, mut slice: CompactSlice, verb: &str) -> String {
        slice.metadata.resource_version = Some(self.version.to_string());
        let write = format!("{verb} {}", slice.endpoints.len());
        self.slices.insert(slice.metadata.name.clone().unwrap(), slice);
        write
    }

    /// The current values of all metrics.
    pub(super) fn metrics(&mut self) -> &MetricValues {
        for measurement in self.controller.take_measurements() {
            self.metrics.apply(measurement);
        }
        &self.metrics
    }

    /// Addresses of all endpoints, with ready, serving and terminating as letters, such as `TTF`.
    pub(super) fn endpoints(&self) -> Vec<(String, String)> {
        let letter = |condition: Option<bool>| condition.map_or('-', |set| if set { 'T' } else { 'F' });
        let endpoints = self.slices.values().flat_map(|slice| &slice.endpoints);
        let mut endpoints: Vec<_> = endpoints
            .map(|endpoint| {
                let conditions = endpoint.conditions;
                let letters = [conditions.ready, conditions.serving, conditions.terminating].map(letter);
                (endpoint.addresses[0].to_string(), letters.iter().collect())
            })
            .collect();
        endpoints.sort();
        endpoints
    }
}
