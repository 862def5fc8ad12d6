use jiff::Timestamp;
use serde_json::{Value, json};
use slice_oracle::{Entry, Event};

use super::*;

/// A history of these objects, one second apart.
fn history(steps: &[(Verb, Value)]) -> History {
    let mut history = History::default();
    for (second, (verb, object)) in (1..).zip(steps) {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(second.to_string());
        let object: Object = serde_json::from_value(object).unwrap();
        let at = Timestamp::from_second(second).unwrap();
        history.push(Entry::Event(Box::new(Event::new(at, *verb, object).unwrap())));
    }
    history
}

fn object(version: &str, kind: &str, name: &str, more: &Value) -> Value {
    let mut object = more.clone();
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    object["metadata"]["name"] = name.into();
    object["metadata"]["namespace"] = "ns".into();
    object["metadata"]["uid"] = format!("{kind}-{name}").into();
    object
}

fn service(name: &str) -> Value {
    let spec = json!({
        "selector": {"app": name}, "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
    });
    object("v1", "Service", name, &json!({"spec": spec}))
}

fn pod(ready: &str) -> Value {
    let status = json!({
        "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": ready}],
    });
    let spec = json!({"nodeName": "node", "containers": [{"name": "web"}]});
    let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": spec, "status": status});
    object("v1", "Pod", "pod", &pod)
}

/// A slice of a Service, with the pod as its endpoint (ready or not) or without endpoints.
fn slice(service: &str, ready: Option<bool>) -> Value {
    let endpoint = ready.map(|ready| {
        json!([{
            "addresses": ["10.0.0.1"], "nodeName": "node",
            "conditions": {"ready": ready, "serving": ready, "terminating": false},
            "targetRef": {"kind": "Pod", "namespace": "ns", "name": "pod", "uid": "Pod-pod"},
        }])
    });
    let ports = ready.map(|_| json!([{"name": "http", "port": 8080, "protocol": "TCP"}]));
    let owner = json!({
        "apiVersion": "v1", "kind": "Service", "name": service, "uid": format!("Service-{service}"),
        "controller": true, "blockOwnerDeletion": true,
    });
    let slice = json!({
        "metadata": {
            "labels": {
                "kubernetes.io/service-name": service,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
            "ownerReferences": [owner],
        },
        "addressType": "IPv4", "endpoints": endpoint, "ports": ports,
    });
    object("discovery.k8s.io/v1", "EndpointSlice", service, &slice)
}

/// A history without violations: a pod becomes ready, then not ready; another Service has no pods.
fn valid() -> Vec<(Verb, Value)> {
    let mut namespace = object("v1", "Namespace", "ns", &json!({}));
    namespace["metadata"]["namespace"] = Value::Null;
    let mut node = object("v1", "Node", "node", &json!({}));
    node["metadata"]["namespace"] = Value::Null;
    vec![
        (Verb::Listed, namespace),
        (Verb::Listed, node),
        (Verb::Added, service("web")),
        (Verb::Added, service("idle")),
        (Verb::Added, slice("idle", None)),
        (Verb::Added, pod("True")),
        (Verb::Added, slice("web", Some(true))),
        (Verb::Modified, pod("False")),
        (Verb::Modified, slice("web", Some(false))),
    ]
}

#[test]
fn a_history_without_violations_is_summarised() {
    let summary = verify(&history(&valid())).unwrap();
    assert_eq!(summary, "verified I1–I7 over 3 revisions of 2 slices");
}

#[test]
fn violations_are_errors() {
    // The slice still publishes the pod as ready (I2).
    let mut late = valid();
    late.pop();
    let error = verify(&history(&late)).unwrap_err().to_string();
    assert!(
        error.starts_with("the slices broke invariants, 1 times:\n  I2 EndpointSlice ns/web"),
        "{error}"
    );
    // The slice publishes the pod as not ready before it is (I4).
    let mut early = valid();
    early.swap(7, 8);
    let error = verify(&history(&early)).unwrap_err().to_string();
    assert!(error.contains("\n  I4 EndpointSlice ns/web"), "{error}");
}

#[test]
fn a_history_that_does_not_exercise_an_invariant_is_an_error() {
    let without_idle: Vec<_> = valid()
        .into_iter()
        .filter(|(_, object)| object["metadata"]["name"] != "idle")
        .collect();
    let error = verify(&history(&without_idle)).unwrap_err().to_string();
    assert!(error.contains("I5"), "{error}");
}
