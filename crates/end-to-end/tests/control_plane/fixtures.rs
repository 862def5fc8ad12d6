//! Input objects.

use serde_json::{Value, json};

/// The node of all pods, shared by all tests of a control plane.
pub(crate) const NODE: &str = "node-a";

pub(crate) fn node(name: &str) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "zone-a"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "4"}},
    })
}

/// A Service that selects all pods of the namespace.
pub(crate) fn service(name: &str) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    })
}

/// A Service whose endpoints are those of [`endpoints`].
pub(crate) fn service_without_selector(name: &str) -> Value {
    json!({
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"name": "http", "port": 80}]},
    })
}

/// Endpoints with the addresses of these numbers.
pub(crate) fn endpoints(name: &str, numbers: impl IntoIterator<Item = usize>) -> Value {
    let addresses: Vec<Value> = numbers
        .into_iter()
        .map(|number| json!({"ip": address(number)}))
        .collect();
    json!({
        "kind": "Endpoints",
        "metadata": {"name": name},
        "subsets": [{"addresses": addresses, "ports": [{"name": "http", "port": 8080}]}],
    })
}

/// A ready pod with the name `web-NUMBER` and the address `10.1.0.NUMBER`.
pub(crate) fn pod(number: usize) -> Value {
    let address = address(number);
    json!({
        "kind": "Pod",
        "metadata": {"name": pod_name(number), "labels": {"app": "web"}},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "main", "ports": [{"name": "http", "containerPort": 8080}]}],
        },
        "status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

pub(crate) fn pod_name(number: usize) -> String {
    format!("web-{number}")
}

pub(crate) fn address(number: usize) -> String {
    format!("10.1.0.{number}")
}
