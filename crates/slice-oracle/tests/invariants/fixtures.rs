//! Builders of small objects and of their endpoints.

use serde_json::{Value, json};

pub(crate) const SERVICES: &str = "endpointslice-controller.k8s.io";
pub(crate) const MIRRORING: &str = "endpointslicemirroring-controller.k8s.io";

/// The object with one value replaced.
pub(crate) fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (path, key) = pointer.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(path).unwrap();
    match key.parse::<usize>() {
        Ok(index) => parent[index] = value,
        Err(_) => parent[key.replace("~1", "/").as_str()] = value,
    }
    object
}

/// The text at a JSON pointer.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

pub(crate) fn uid(object: &Value) -> String {
    text(object, "/metadata/uid")
}

fn object(version: &str, kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": format!("{kind}-{name}")},
    })
}

/// A ready node with one CPU.
pub(crate) fn node(name: &str, zone: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A Service that selects the pods `app: web`, with target port 8080.
pub(crate) fn service() -> Value {
    let mut service = object("v1", "Service", "web");
    service["spec"] = json!({
        "selector": {"app": "web"},
        "clusterIP": "10.96.0.1",
        "ipFamilies": ["IPv4"],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
    });
    service
}

pub(crate) fn dual_stack_service() -> Value {
    with(service(), "/spec/ipFamilies", json!(["IPv4", "IPv6"]))
}

/// A ready pod of the Service, number `n` of its node, with an address of each family.
pub(crate) fn pod(name: &str, node: &str, n: u8) -> Value {
    let mut pod = object("v1", "Pod", name);
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod["spec"] = json!({"nodeName": node, "containers": [{"name": "web"}]});
    pod["status"] = json!({
        "phase": "Running",
        "podIP": format!("10.0.0.{n}"),
        "podIPs": [{"ip": format!("10.0.0.{n}")}, {"ip": format!("fd00::{n:x}")}],
        "conditions": [{"type": "Ready", "status": "True"}],
    });
    pod
}

pub(crate) fn pod_a() -> Value {
    pod("a", "node-a", 1)
}

pub(crate) fn pod_b() -> Value {
    pod("b", "node-b", 2)
}

pub(crate) fn unready(pod: Value) -> Value {
    with(pod, "/status/conditions/0/status", json!("False"))
}

/// The IPv4 endpoint of a ready pod.
pub(crate) fn endpoint_of(pod: &Value) -> Value {
    let node = text(pod, "/spec/nodeName");
    json!({
        "addresses": [text(pod, "/status/podIPs/0/ip")],
        "conditions": {"ready": true, "serving": true, "terminating": false},
        "nodeName": node,
        "zone": node.replace("node", "zone"),
        "targetRef": {"kind": "Pod", "namespace": "ns", "name": text(pod, "/metadata/name"), "uid": uid(pod)},
    })
}

/// The IPv6 endpoint of a ready pod.
pub(crate) fn endpoint_of_v6(pod: &Value) -> Value {
    with(
        endpoint_of(pod),
        "/addresses",
        json!([text(pod, "/status/podIPs/1/ip")]),
    )
}

pub(crate) fn unready_endpoint_of(pod: &Value) -> Value {
    with(
        endpoint_of(pod),
        "/conditions",
        json!({"ready": false, "serving": false, "terminating": false}),
    )
}

/// A slice of the Service without endpoints and ports.
pub(crate) fn placeholder(name: &str) -> Value {
    let mut slice = object("discovery.k8s.io/v1", "EndpointSlice", name);
    slice["metadata"]["labels"] =
        json!({"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": SERVICES});
    slice["metadata"]["ownerReferences"] = json!([owner("Service", "Service-web")]);
    slice["addressType"] = json!("IPv4");
    slice["endpoints"] = Value::Null;
    slice["ports"] = Value::Null;
    slice
}

/// A slice of the Service with these endpoints.
pub(crate) fn slice(name: &str, endpoints: &[Value]) -> Value {
    let slice = with(placeholder(name), "/endpoints", json!(endpoints));
    with(
        slice,
        "/ports",
        json!([{"name": "http", "port": 8080, "protocol": "TCP"}]),
    )
}

pub(crate) fn slice_v6(name: &str, endpoints: &[Value]) -> Value {
    with(slice(name, endpoints), "/addressType", json!("IPv6"))
}

fn owner(kind: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": "web", "uid": uid, "controller": true, "blockOwnerDeletion": true})
}

/// The slice with another owner.
pub(crate) fn owned_by(slice: Value, uid: &str) -> Value {
    let owner = owner("Service", uid);
    with(slice, "/metadata/ownerReferences", json!([owner]))
}

/// The slice with another managed-by label.
pub(crate) fn managed_by(slice: Value, manager: &str) -> Value {
    with(
        slice,
        "/metadata/labels/endpointslice.kubernetes.io~1managed-by",
        json!(manager),
    )
}

/// A Service without selector.
pub(crate) fn service_without_selector() -> Value {
    let mut service = service();
    service["spec"].as_object_mut().unwrap().remove("selector");
    service
}

/// An Endpoints object with these ready and not ready addresses at port 8080.
pub(crate) fn endpoints(addresses: &[&str], not_ready: &[&str]) -> Value {
    let list = |addresses: &[&str]| addresses.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
    let mut endpoints = object("v1", "Endpoints", "web");
    endpoints["subsets"] = json!([{
        "addresses": list(addresses),
        "notReadyAddresses": list(not_ready),
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }]);
    endpoints
}

/// A mirrored slice with these addresses.
pub(crate) fn mirrored(name: &str, addresses: &[&str], not_ready: &[&str]) -> Value {
    let show = |ready: bool| move |ip: &&str| json!({"addresses": [ip], "conditions": {"ready": ready}});
    let endpoints: Vec<_> = addresses
        .iter()
        .map(show(true))
        .chain(not_ready.iter().map(show(false)))
        .collect();
    let slice = managed_by(slice(name, &endpoints), MIRRORING);
    let owner = owner("Endpoints", "Endpoints-web");
    with(slice, "/metadata/ownerReferences", json!([owner]))
}
