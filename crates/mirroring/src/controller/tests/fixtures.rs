//! Objects of the tests, all of the key [`KEY`].

use super::*;
use crate::fixtures;

pub(super) const KEY: &str = "test/test-ep";

pub(super) fn key() -> Key {
    Key::new("test", "test-ep")
}

pub(super) fn config() -> Config {
    Config {
        managed_by: MANAGED_BY.to_owned(),
        max_endpoints_per_subset: NonZeroUsize::new(1000).unwrap(),
        batch_period: Duration::from_secs(10),
        service_selector: String::new(),
    }
}

/// An Endpoints object with subsets in the notation of [`crate::fixtures`].
pub(super) fn endpoints(subsets: &str) -> Value {
    let mut endpoints = serde_json::to_value(fixtures::endpoints(subsets)).unwrap();
    endpoints["metadata"] = json!({"namespace": "test", "name": "test-ep", "uid": "1"});
    endpoints
}

pub(super) fn service(selector: &Value) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"namespace": "test", "name": "test-ep", "uid": "2"},
        "spec": {"selector": selector, "ports": [{"port": 80}]},
    })
}

pub(super) fn service_with_selector() -> Value {
    service(&json!({"foo": "bar"}))
}

/// Metadata of a slice with the pods of a Service.
pub(super) fn pod_slice(name: &str, service: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "metadata": {"namespace": "test", "name": name, "labels": {"kubernetes.io/service-name": service}},
    })
}

/// A stored slice of ours, owned by the Endpoints object.
pub(super) fn stored(name: &str, address_type: &str, ports: &Value, endpoints: &Value) -> CompactSlice {
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

/// Returns the object with one field set.
pub(super) fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

/// A write error with this text.
pub(super) fn write_error(text: &str) -> WriteError {
    WriteError::Transport(text.into())
}
