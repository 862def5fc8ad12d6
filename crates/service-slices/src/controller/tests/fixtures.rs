//! API objects as JSON.

use serde_json::{Value, json};
use slice_controller::WriteError;

pub(super) fn node(name: &str, zone: &str) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "2"}},
    })
}

/// A ready pod of the Service `web`, on the node `n1`.
pub(super) fn pod(name: &str, ip: &str) -> Value {
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

/// A Service with the selector `app=<name>`.
pub(super) fn service(name: &str) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"namespace": "ns", "name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {"clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "selector": {"app": name}, "ports": [{"port": 80}]},
    })
}

/// The object with one field set.
pub(super) fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

/// A write error with this message.
pub(super) fn write_error(message: &str) -> WriteError {
    WriteError::Transport(message.into())
}
