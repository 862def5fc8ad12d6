//! What the whole story comes to.

use anyhow::{Context as _, Result, bail, ensure};
use slice_oracle::{CheckConfig, History, Invariant, Object, Verb, verify};

use super::stage::list;

/// What the story is about; it has to touch all of it.
const SHOWN: [Invariant; 5] = [
    Invariant::I1,
    Invariant::I2,
    Invariant::I3,
    Invariant::I4,
    Invariant::I5,
];

/// Holds a whole history to the invariants; answers what was looked at.
pub(super) fn judge(history: &History) -> Result<String> {
    let report = verify(history, &CheckConfig::default());
    let violations = &report.violations;
    if !violations.is_empty() {
        bail!(
            "the slices broke invariants, {} times:\n{}",
            violations.len(),
            list(violations)
        );
    }
    for invariant in SHOWN {
        ensure!(
            report.checks.contains_key(&invariant),
            "nothing that happened has to do with {invariant}, so that nothing is proved"
        );
    }
    let last = report.checks.keys().last().context("nothing was checked")?;
    let slices = history.events().filter(|event| {
        let is_new = matches!(event.verb(), Verb::Listed | Verb::Added);
        is_new && matches!(event.object(), Object::EndpointSlice(_))
    });
    Ok(format!(
        "verified I1–{last} over {} revisions of {} slices",
        report.revisions,
        slices.count()
    ))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};
    use slice_oracle::{Entry, Event};

    use super::*;

    /// A history of these objects, a second each.
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

    /// A slice of a Service, with the pod in it as ready or not, or with nothing.
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

    /// A story in which everything is right: a pod becomes ready and not ready, and a Service has none.
    fn right() -> Vec<(Verb, Value)> {
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
    fn a_right_story_is_summed_up() {
        let summary = judge(&history(&right())).unwrap();
        assert_eq!(summary, "verified I1–I7 over 3 revisions of 2 slices");
    }

    #[test]
    fn a_controller_that_errs_is_told_on() {
        // The pod is not ready, and nobody was told.
        let mut late = right();
        late.pop();
        let error = judge(&history(&late)).unwrap_err().to_string();
        assert!(
            error.starts_with("the slices broke invariants, 1 times:\n  I2 EndpointSlice ns/web"),
            "{error}"
        );
        // It is taken for not ready before it is.
        let mut early = right();
        early.swap(7, 8);
        let error = judge(&history(&early)).unwrap_err().to_string();
        assert!(error.contains("\n  I4 EndpointSlice ns/web"), "{error}");
    }

    #[test]
    fn a_story_that_shows_too_little_proves_nothing() {
        let without_idle: Vec<_> = right()
            .into_iter()
            .filter(|(_, object)| object["metadata"]["name"] != "idle")
            .collect();
        let error = judge(&history(&without_idle)).unwrap_err().to_string();
        assert!(error.contains("I5"), "{error}");
    }
}
