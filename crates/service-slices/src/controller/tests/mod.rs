//! The controller, played: changes go in, keys come out, and plans are carried out on slices in memory.

mod concerned;
mod hints;
mod metrics;
mod syncs;
mod wakes;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slice_controller::{MetricValues, WriteError};
use slice_core::CompactSlice;
use slice_reconciler::Operation;

use super::*;

/// A controller, and the slices that it has written.
struct Stage {
    controller: ServiceController,
    metrics: MetricValues,
    context: EventContext,
    slices: BTreeMap<String, CompactSlice>,
    version: i64,
}

impl Stage {
    fn new() -> Self {
        Self::with(Duration::ZERO)
    }

    fn with(batch_period: Duration) -> Self {
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

    /// The keys that were enqueued, and when they are due.
    fn enqueued(&mut self) -> Vec<(String, Duration)> {
        let enqueued = self.context.take_enqueued().into_iter();
        let mut enqueued: Vec<_> = enqueued.map(|(key, delay)| (key.to_string(), delay)).collect();
        enqueued.sort();
        enqueued
    }

    fn enqueued_keys(&mut self) -> Vec<String> {
        self.enqueued().into_iter().map(|(key, _)| key).collect()
    }

    /// An object comes or changes; answers the keys that this enqueues.
    fn apply(&mut self, object: &Value) -> Vec<String> {
        let decode = match object["kind"].as_str().unwrap() {
            "Pod" => slim::pod,
            "Service" => slim::service,
            _ => slim::node,
        };
        let decoded = decode(object.to_string().as_bytes()).unwrap();
        self.controller.apply(decoded.object, &mut self.context);
        self.enqueued_keys()
    }

    /// An object goes; answers the keys that this enqueues.
    fn delete(&mut self, watch: Watch, name: &str) -> Vec<String> {
        let object = ObjectRef {
            namespace: if watch == Watch::Nodes { "" } else { "ns" }.into(),
            name: name.into(),
            ..ObjectRef::default()
        };
        self.controller.delete(watch, &object, &mut self.context);
        self.enqueued_keys()
    }

    /// Nodes are weighed; answers the keys that this enqueues.
    fn before_sync(&mut self) -> Vec<String> {
        self.controller.before_sync(&mut self.context);
        let enqueued = self.context.take_enqueued().into_iter();
        enqueued.map(|(key, _)| key.to_string()).collect()
    }

    fn plan(&mut self, name: &str) -> SyncResult {
        let of_service = |slice: &&CompactSlice| Key::from_slice_labels(&slice.metadata) == Some(Key::new("ns", name));
        let existing: Vec<CompactSlice> = self.slices.values().filter(of_service).cloned().collect();
        let context = SyncContext {
            existing: &existing,
            reserved_names: &[],
            now: Timestamp::UNIX_EPOCH,
        };
        self.controller.sync(&Key::new("ns", name), &context).unwrap()
    }

    /// Looks at a Service and carries the plan out; answers the writes in words, and the reasons of events.
    fn sync(&mut self, name: &str) -> (Vec<String>, Vec<String>) {
        let SyncResult { plan, events, .. } = self.plan(name);
        let mut outcome = SyncOutcome::default();
        let mut words = Vec::new();
        for write in plan.writes {
            words.push(self.carry_out(write.operation, &mut outcome));
        }
        self.controller.on_sync_result(&Key::new("ns", name), &outcome);
        (words, events.into_iter().map(|event| event.message).collect())
    }

    fn carry_out(&mut self, operation: Operation, outcome: &mut SyncOutcome) -> String {
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
            Operation::Delete(deletion) => {
                outcome.writes.deleted += 1;
                self.slices.remove(&deletion.name);
                "delete".to_owned()
            }
        }
    }

    /// The values of all metrics.
    fn metrics(&mut self) -> &MetricValues {
        for measurement in self.controller.take_measurements() {
            self.metrics.apply(measurement);
        }
        &self.metrics
    }

    fn store(&mut self, mut slice: CompactSlice, verb: &str) -> String {
        slice.metadata.resource_version = Some(self.version.to_string());
        let words = format!("{verb} {}", slice.endpoints.len());
        self.slices.insert(slice.metadata.name.clone().unwrap(), slice);
        words
    }

    /// All endpoints, by address, with ready, serving and terminating in letters.
    fn endpoints(&self) -> Vec<(String, String)> {
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

fn node(name: &str, zone: &str) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "2"}},
    })
}

/// A ready pod of the Service `web`, on the node `n1`.
fn pod(name: &str, ip: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"), "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": []},
        "status": {
            "phase": "Running", "podIPs": [{"ip": ip}],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-02T03:04:06Z"}],
        },
    })
}

/// A Service that selects `app` of its own name.
fn service(name: &str) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "selector": {"app": name}, "ports": [{"port": 80}]},
    })
}

/// The object with one thing changed.
fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

/// A write error with this text.
fn write_error(text: &str) -> WriteError {
    WriteError::Transport(text.into())
}
