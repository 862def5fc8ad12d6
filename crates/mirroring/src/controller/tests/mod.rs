//! The controller, played: changes go in, keys come out, and plans are carried out on slices in memory.

mod clean_up;
mod events;
mod metrics;
mod selectors;
mod syncs;
mod wakes;

use jiff::Timestamp;
use serde_json::{Value, json};
use slice_controller::{MetricValues, WriteError};
use slice_core::CompactSlice;
use slice_reconciler::{Operation, Plan};

use super::*;
use crate::{MANAGED_BY, testing};

const KEY: &str = "test/test-ep";

fn key() -> Key {
    Key::new("test", "test-ep")
}

/// A controller, and all slices there are.
struct Stage {
    controller: MirroringController,
    metrics: MetricValues,
    context: EventContext,
    slices: Vec<CompactSlice>,
    taken: Vec<String>,
    now: Timestamp,
    version: u32,
}

fn config() -> Config {
    Config {
        managed_by: MANAGED_BY.to_owned(),
        max_endpoints_per_subset: NonZeroUsize::new(1000).unwrap(),
        batch_period: Duration::from_secs(10),
        service_selector: String::new(),
    }
}

impl Stage {
    fn new() -> Self {
        Self::with(config())
    }

    fn with(config: Config) -> Self {
        let controller = MirroringController::new(config);
        let mut metrics = MetricValues::default();
        for metric in controller.metrics() {
            metrics.register(metric);
        }
        Self {
            controller,
            metrics,
            context: EventContext::default(),
            slices: Vec::new(),
            taken: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
            version: 0,
        }
    }

    /// A Service without selector and an Endpoints object with these subsets, mirrored.
    fn settled(subsets: &str) -> Self {
        let mut stage = Self::new();
        stage.apply(&service(&Value::Null));
        stage.apply(&endpoints(subsets));
        stage.sync();
        stage
    }

    fn enqueued(&mut self) -> Vec<(String, Duration)> {
        let enqueued = self.context.take_enqueued().into_iter();
        enqueued.map(|(key, delay)| (key.to_string(), delay)).collect()
    }

    /// An object comes or changes; answers the keys that this enqueues, and when.
    fn apply(&mut self, object: &Value) -> Vec<(String, Duration)> {
        let decode = match object["kind"].as_str().unwrap() {
            "Endpoints" => slim::endpoints,
            "Service" => slim::service,
            _ => slim::pod_slice,
        };
        let decoded = decode(object.to_string().as_bytes()).unwrap();
        self.controller.apply(decoded.object, &mut self.context);
        self.enqueued()
    }

    /// An object goes; answers the keys that this enqueues, and when.
    fn delete(&mut self, watch: Watch, name: &str) -> Vec<(String, Duration)> {
        let object = ObjectRef {
            namespace: "test".into(),
            name: name.into(),
            ..ObjectRef::default()
        };
        self.controller.delete(watch, &object, &mut self.context);
        self.enqueued()
    }

    /// Our slices of the name.
    fn ours(&self) -> Vec<CompactSlice> {
        let managed_by = &self.controller.config.managed_by;
        let ours = self.slices.iter().filter(|slice| {
            let labels = slice.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)) == Some(managed_by)
                && Key::from_slice_labels(&slice.metadata) == Some(key())
        });
        ours.cloned().collect()
    }

    fn decide(&mut self) -> SyncResult {
        let existing = self.ours();
        let context = SyncContext {
            existing: &existing,
            reserved_names: &self.taken,
            now: self.now,
        };
        self.controller.sync(&key(), &context).unwrap()
    }

    /// Looks at the name and carries the plan out; answers the writes in words.
    fn sync(&mut self) -> String {
        let SyncResult { plan, .. } = self.decide();
        self.carry_out(&plan)
    }

    fn carry_out(&mut self, plan: &Plan) -> String {
        let mut outcome = SyncOutcome::default();
        let mut words = Vec::new();
        for write in &plan.writes {
            let (count, verb) = match &write.operation {
                Operation::Create(_) => (&mut outcome.writes.created, "create"),
                Operation::Update(_) => (&mut outcome.writes.updated, "update"),
                Operation::Delete(_) => (&mut outcome.writes.deleted, "delete"),
            };
            *count += 1;
            words.push(match &write.operation {
                Operation::Create(slice) | Operation::Update(slice) => format!("{verb} {}", content(slice)),
                Operation::Delete(_) => verb.to_owned(),
            });
            write.operation.apply_to(&mut self.slices);
        }
        self.version += 1;
        for slice in self.slices.iter_mut().filter(|slice| slice.metadata.uid.is_none()) {
            let name = slice.metadata.name.as_deref().unwrap();
            slice.metadata.uid = Some(format!("uid-{name}"));
            slice.metadata.resource_version = Some(self.version.to_string());
        }
        self.controller.on_sync_result(&key(), &outcome);
        words.join("; ")
    }

    /// The values of all metrics.
    fn metrics(&mut self) -> &MetricValues {
        for measurement in self.controller.take_measurements() {
            self.metrics.apply(measurement);
        }
        &self.metrics
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }
}

/// A slice in the notation of [`testing`].
fn content(slice: &CompactSlice) -> String {
    let endpoint = |endpoint: &slice_core::Endpoint| {
        let ready = endpoint.conditions.ready == Some(true);
        format!(" {}{}", if ready { "" } else { "!" }, endpoint.addresses[0])
    };
    let address_type = slice.address_type.as_ref().map_or("?", |known| known.as_str());
    let endpoints: String = slice.endpoints.iter().map(endpoint).collect();
    format!("{address_type}{endpoints} :{}", testing::ports(slice.ports.ports()))
}

/// An Endpoints object with subsets in the notation of [`testing`].
fn endpoints(subsets: &str) -> Value {
    let mut endpoints = serde_json::to_value(testing::endpoints(subsets)).unwrap();
    endpoints["metadata"] = json!({"namespace": "test", "name": "test-ep", "uid": "1"});
    endpoints
}

fn service(selector: &Value) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"namespace": "test", "name": "test-ep", "uid": "2"},
        "spec": {"selector": selector, "ports": [{"port": 80}]},
    })
}

fn selecting() -> Value {
    service(&json!({"foo": "bar"}))
}

/// A slice with the pods of a Service.
fn pod_slice(name: &str, service: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "metadata": {"namespace": "test", "name": name, "labels": {"kubernetes.io/service-name": service}},
    })
}

/// A stored slice of ours, owned by the Endpoints object.
fn stored(name: &str, address_type: &str, ports: &Value, endpoints: &Value) -> CompactSlice {
    let slice = json!({
        "metadata": {
            "namespace": "test", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "7",
            "labels": {"kubernetes.io/service-name": "test-ep", "endpointslice.kubernetes.io/managed-by": MANAGED_BY},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Endpoints", "name": "test-ep", "uid": "1"}],
        },
        "addressType": address_type, "ports": ports, "endpoints": endpoints,
    });
    CompactSlice::from(&serde_json::from_value(slice).unwrap())
}

/// The object with one thing changed.
fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

/// The key, to be looked at after so many seconds.
fn woken(seconds: u64) -> Vec<(String, Duration)> {
    vec![(KEY.to_owned(), Duration::from_secs(seconds))]
}

/// A write error with this text.
fn write_error(text: &str) -> WriteError {
    WriteError::Transport(text.into())
}
