//! API objects, and summaries of desired endpoints.

use std::collections::HashMap;

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use slice_core::{Conditions, EndpointSource as _};

use crate::{Desired, Node, Pod, Service, desired};

/// Applies a merge patch to a JSON object; null clears a field.
fn merged(mut base: Value, patch: Value) -> Value {
    match (&mut base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                let old = base.remove(&key).unwrap_or(Value::Null);
                base.insert(key, merged(old, value));
            }
        }
        (base, patch) => *base = patch,
    }
    base
}

/// The fixture pod of the specification with a patch: ready, 1.2.3.(4 + n) on node-1, in namespace `test`.
pub(super) fn pod(n: usize, patch: Value) -> api::Pod {
    let base = json!({
        "metadata": {"namespace": "test", "name": format!("pod{n}"), "uid": format!("uid{n}"), "labels": {"foo": "bar"}},
        "spec": {"containers": [{"name": "container-1"}], "nodeName": "node-1"},
        "status": {
            "podIP": format!("1.2.3.{}", 4 + n),
            "podIPs": [{"ip": format!("1.2.3.{}", 4 + n)}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    serde_json::from_value(merged(base, patch)).unwrap()
}

/// A patch for [`pod`].
pub(super) fn unready() -> Value {
    json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
}

/// The fixture Service with a patch: `test/foo`, IPv4, port 80/TCP.
pub(super) fn service(patch: Value) -> Service {
    let base = json!({
        "metadata": {"namespace": "test", "name": "foo"},
        "spec": {
            "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
            "selector": {"foo": "bar"},
            "ipFamilies": ["IPv4"],
        },
    });
    let service: api::Service = serde_json::from_value(merged(base, patch)).unwrap();
    Service::from(&service)
}

/// Nodes by name, from names and zones; an empty zone is none.
pub(super) fn nodes<'n>(nodes: &[(&'n str, &'n str)]) -> HashMap<&'n str, Node> {
    let node = |name: &'n str, zone: &'n str| Node {
        name: name.into(),
        zone: (!zone.is_empty()).then(|| zone.into()),
    };
    nodes.iter().map(|(name, zone)| (*name, node(name, zone))).collect()
}

pub(super) fn conditions(ready: bool, serving: bool, terminating: bool) -> Conditions {
    Conditions {
        ready: Some(ready),
        serving: Some(serving),
        terminating: Some(terminating),
    }
}

/// A group in comparable form: address type, port numbers, and for each endpoint its pod and addresses.
pub(super) type GroupSummary = (&'static str, Vec<Option<i32>>, Vec<(String, Vec<String>)>);

/// Groups and skipped pods in comparable form.
pub(super) fn summarize(desired: Desired<'_>) -> (Vec<GroupSummary>, Vec<String>) {
    let groups = desired.groups.into_iter().map(|group| {
        let endpoints = group.endpoints.into_sorted();
        let endpoints = endpoints.iter().map(|endpoint| {
            let addresses = endpoint.addresses().iter().map(ToString::to_string);
            (endpoint.pod.name().to_owned(), addresses.collect())
        });
        (
            group.address_type.as_str(),
            group.ports.ports().iter().map(|port| port.port).collect(),
            endpoints.collect(),
        )
    });
    let skipped = desired.skipped.iter().map(ToString::to_string);
    (groups.collect(), skipped.collect())
}

/// Derives the desired endpoints and summarizes them.
pub(super) fn desired_summary(
    service: &Service,
    pods: &[api::Pod],
    nodes: &HashMap<&str, Node>,
) -> (Vec<GroupSummary>, Vec<String>) {
    let pods: Vec<Pod> = pods.iter().map(Pod::from).collect();
    summarize(desired(service, &pods, nodes))
}

/// The expected summary of a group.
pub(super) fn group(address_type: &'static str, ports: &[i32], endpoints: &[(&str, &[&str])]) -> GroupSummary {
    let endpoint = |(pod, addresses): &(&str, &[&str])| {
        let addresses = addresses.iter().map(|address| (*address).to_owned());
        ((*pod).to_owned(), addresses.collect())
    };
    (
        address_type,
        ports.iter().copied().map(Some).collect(),
        endpoints.iter().map(endpoint).collect(),
    )
}
