//! The values of the chart and their schema.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{Controller, NAMESPACE, VERSION, deployment::args, yaml::HEADER};

const SHARED: &str = r#"
# Whether the chart creates the namespace, with the labels that allow the host network, and a ResourceQuota that allows the
# priority class system-cluster-critical where it is limited, as by GKE. If so, install the release in another namespace, such as
# kube-system. If a later upgrade sets it to false, Helm deletes the namespace with the controllers, unless the namespace has the
# annotation helm.sh/resource-policy=keep before.
createNamespace: true

imagePullPolicy: IfNotPresent
# Secrets with credentials of the registry, in the namespace: [{name: registry}]. They must exist before the pods: create the
# namespace with the label pod-security.kubernetes.io/enforce=privileged, then the Secrets, and set createNamespace to false.
imagePullSecrets: []

# Further labels of the nodes for the pods, such as {kubernetes.io/arch: amd64}: the images of `cargo xtask image` have the
# architecture of the machine that builds them.
nodeSelector: {}

# The permissions remain those for all namespaces. The chart installs one instance: while the built-in controllers are off, Services
# outside of the scope have no controller.
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
        let fixed = fixed_flags(controller).join(", ");
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
  # Further flags, such as --v=4; see `{name} --help`. A flag that is given twice ends the program, so not
  # {fixed},
  # on which probes, ports and the Role depend, and not the flag of a scope that is set above.
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
    let controller = |controller| {
        object(&json!({
            "enabled": flag,
            "image": {"type": "string", "minLength": 1},
            "replicas": {"type": "integer", "minimum": 0, "maximum": 10},
            "flags": {
                "type": "array",
                "items": {"type": "string", "pattern": "^-", "not": repeats(&fixed_flags(controller))},
            },
            "resources": {"type": "object"},
        }))
    };
    let mut schema = object(&json!({
        "namespace": {"type": "string", "minLength": 1},
        "createNamespace": flag,
        "imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
        "imagePullSecrets": {"type": "array", "items": {"type": "object"}},
        "nodeSelector": {"type": "object"},
        "scope": object(&json!({"namespace": text, "serviceSelector": text})),
        "monitoring": object(&json!({"enabled": flag, "labels": {"type": "object"}})),
        // Values of a parent chart, and its condition for this one.
        "global": {"type": "object"},
        "enabled": flag,
    }));
    for one in Controller::ALL {
        schema["properties"][one.short_name()] = controller(one);
    }
    schema["allOf"] = json!([
        scope_or_flag("namespace", "--namespace"),
        scope_or_flag("serviceSelector", "--service-selector")
    ]);
    schema["$schema"] = json!("https://json-schema.org/draft-07/schema#");
    schema
}

/// The flags that the Deployment has.
fn fixed_flags(controller: Controller) -> Vec<String> {
    let name = |argument: &String| argument.split('=').next().unwrap_or_default().to_owned();
    args(controller, false).iter().map(name).collect()
}

/// Matches an argument with one of these flags.
fn repeats(flags: &[String]) -> Value {
    json!({"pattern": format!("^({})(=|$)", flags.join("|"))})
}

/// If a scope is set, its flag is not given in addition.
fn scope_or_flag(scope: &str, flag: &str) -> Value {
    let flags = json!({"properties": {"flags": {"items": {"not": repeats(&[flag.to_owned()])}}}});
    let controllers = Controller::ALL.map(|controller| (controller.short_name().to_owned(), flags.clone()));
    json!({
        "if": {"properties": {"scope": {"properties": {scope: {"minLength": 1}}}}},
        "then": {"properties": serde_json::Map::from_iter(controllers)},
    })
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}
