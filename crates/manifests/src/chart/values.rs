//! The values of the chart and their schema.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{Controller, NAMESPACE, VERSION, yaml::HEADER};

const SHARED: &str = r#"
# Whether the chart creates the namespace, with the labels that allow the host network, and a ResourceQuota that allows the
# priority class system-cluster-critical where it is limited, as by GKE. If so, install the release in another namespace, such as
# kube-system.
createNamespace: true

imagePullPolicy: IfNotPresent
# Secrets with credentials of the registry, in the namespace: [{name: registry}]
imagePullSecrets: []

scope:
  # Watch only this namespace (flag --namespace). All namespaces if empty.
  namespace: ""
  # Watch only Services that match this label selector (flag --service-selector).
  serviceSelector: ""

monitoring:
  # PodMonitor, PrometheusRules and a Grafana dashboard; needs the Prometheus operator.
  enabled: false
  # Further labels of PodMonitor and PrometheusRules, by which a Prometheus selects them.
  labels: {}
"#;

/// `values.yaml`.
pub(super) fn yaml() -> String {
    let mut text = format!(
        "{HEADER}\n# The namespace of all objects, except for the Role and RoleBinding of each Lease.\nnamespace: {NAMESPACE}\n"
    );
    text += &SHARED[1..];
    for controller in Controller::ALL {
        let (key, name) = (controller.short_name(), controller.name());
        let [cpu, memory] = controller.requests().map(|(_, quantity)| quantity);
        write!(
            text,
            "
{key}:
  # Whether {name} is installed.
  enabled: true
  image: {name}:{VERSION}
  # Each replica needs a node of its own, because it uses port {} of the node: 1 in a cluster with one node.
  replicas: 2
  # Further flags, such as --v=4; see `{name} --help`.
  flags: []
  resources:
    requests:
      cpu: {cpu}
      memory: {memory}
",
            controller.secure_port()
        )
        .expect("writing to a String never fails");
    }
    text
}

/// `values.schema.json`: Helm rejects values with a wrong type or name.
pub(super) fn schema() -> Value {
    let text = json!({"type": "string"});
    let flag = json!({"type": "boolean"});
    let controller = object(&json!({
        "enabled": flag,
        "image": {"type": "string", "minLength": 1},
        "replicas": {"type": "integer", "minimum": 0},
        "flags": {"type": "array", "items": {"type": "string", "pattern": "^-"}},
        "resources": {"type": "object"},
    }));
    let mut schema = object(&json!({
        "namespace": {"type": "string", "minLength": 1},
        "createNamespace": flag,
        "imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
        "imagePullSecrets": {"type": "array", "items": {"type": "object"}},
        "scope": object(&json!({"namespace": text, "serviceSelector": text})),
        "monitoring": object(&json!({"enabled": flag, "labels": {"type": "object"}})),
        // Values of a parent chart.
        "global": {"type": "object"},
    }));
    for name in Controller::ALL.map(Controller::short_name) {
        schema["properties"][name] = controller.clone();
    }
    schema["$schema"] = json!("https://json-schema.org/draft-07/schema#");
    schema
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}
