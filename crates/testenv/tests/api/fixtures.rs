//! Small valid objects, and `with` to change them.

use serde_json::{Value, json};

/// Sets the field at a dotted path and creates missing objects.
pub(crate) fn with(mut object: Value, path: &str, value: Value) -> Value {
    let mut place = &mut object;
    for key in path.split('.') {
        place = match key.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[key],
        };
    }
    *place = value;
    object
}

/// An IPv4 slice of one endpoint and one port.
pub(crate) fn slice(name: &str) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"]}],
        "ports": [{"name": "http", "protocol": "TCP", "port": 80}],
    })
}

/// A slice of another address type with these addresses in one endpoint.
pub(crate) fn slice_of(name: &str, address_type: &str, addresses: &[&str]) -> Value {
    let slice = with(slice(name), "addressType", json!(address_type));
    with(slice, "endpoints.0.addresses", json!(addresses))
}

/// A Service of one port with a selector.
pub(crate) fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]},
    })
}

/// An Endpoints object of one subset.
pub(crate) fn endpoints(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": name},
        "subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}],
    })
}

/// A Pod of one container, on no node.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "example.com/main"}]},
    })
}

/// A Node with nothing set.
pub(crate) fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

/// A lease with a holder.
pub(crate) fn lease(name: &str, holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    })
}

/// A core event about a Service in the namespace.
pub(crate) fn event(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {"apiVersion": "v1", "kind": "Service", "namespace": namespace, "name": "web"},
        "reason": "Tested",
        "message": "something happened",
        "type": "Normal",
        "source": {"component": "suite"},
    })
}
