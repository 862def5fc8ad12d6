//! Scenarios: steps of changes, after each of which the controllers must become quiescent.

use serde_json::{Value, json};
use slice_core::well_known::MANAGED_BY_LABEL;

use super::expectation::Expectation;

/// A scenario that runs on both clusters.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Ids of the rules and test cases that it covers.
    pub(super) rules: &'static [&'static str],
    pub(super) steps: Vec<Step>,
    /// It depends on all nodes of the cluster, so no other scenario may run at the same time.
    pub(super) exclusive: bool,
}

/// Some changes, after which both clusters become quiescent.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub(super) changes: Vec<Change>,
    /// Documented deviations, with the aspects that may differ in this step.
    pub(super) deviations: Vec<(&'static str, &'static [Aspect])>,
    /// Expected state of each cluster.
    pub(super) expectations: Vec<Expectation>,
}

impl Step {
    /// Whether a readme deviation allows a difference in this aspect.
    pub(super) fn allows_difference(&self, aspect: Aspect) -> bool {
        self.deviations.iter().any(|(_, aspects)| aspects.contains(&aspect))
    }

    /// Whether the step causes a single watch event. A pod deleted without grace period causes two: an update with a
    /// deletionTimestamp, then the deletion.
    pub(super) fn is_single_event(&self) -> bool {
        match &*self.changes {
            [Change::Delete { kind, graceful, .. }] => *kind != "Pod" || *graceful,
            changes => changes.len() == 1,
        }
    }
}

/// A compared aspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    /// The slices when quiescent.
    Slices,
    /// The number of writes.
    Writes,
    /// The recorded events.
    Events,
}

/// A change of the cluster.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Server-side apply of an object, including its status.
    Apply(Value),
    /// Delete an object; a pod with or without its grace period.
    Delete {
        kind: &'static str,
        name: String,
        graceful: bool,
    },
    /// Patch every slice of a Service, as another client.
    EditSlices { service: String, patch: Value },
    /// Delete every slice of a Service, as another client.
    DeleteSlices { service: String },
}

impl Scenario {
    pub(super) fn new(name: &'static str, rules: &'static [&'static str]) -> Self {
        Self {
            name,
            rules,
            steps: Vec::new(),
            exclusive: false,
        }
    }

    /// Runs without other scenarios, because it depends on all nodes of the cluster.
    pub(super) fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// Adds a step.
    pub(super) fn then(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.steps.push(Step {
            changes: changes.into_iter().collect(),
            ..Step::default()
        });
        self
    }

    /// Allows the last step to differ from upstream in these aspects, because of a readme deviation.
    pub(super) fn allow_deviation(mut self, deviation: &'static str, aspects: &'static [Aspect]) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.deviations.push((deviation, aspects));
        }
        self
    }

    /// Expects exactly one slice per pattern after the last step.
    pub(super) fn expect_slices(self, slices: impl IntoIterator<Item = Value>) -> Self {
        self.expect(Expectation::Slices(slices.into_iter().collect()))
    }

    /// Expects that a client on this node in this zone can reach exactly these addresses after the last step.
    pub(super) fn expect_reachable(self, node: &str, zone: &'static str, addresses: &[&'static str]) -> Self {
        self.expect(Expectation::Reachable {
            node: node.to_owned(),
            zone,
            addresses: addresses.to_vec(),
        })
    }

    fn expect(mut self, expectation: Expectation) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.expectations.push(expectation);
        }
        self
    }
}

/// Applies an object.
pub(super) fn apply(object: &Value) -> Change {
    Change::Apply(object.clone())
}

/// Deletes an object, a pod without grace period.
pub(super) fn delete(kind: &'static str, name: &str) -> Change {
    Change::Delete {
        kind,
        name: name.to_owned(),
        graceful: false,
    }
}

/// Deletes a pod with its grace period. It stays terminating until it is deleted again.
pub(super) fn terminate(name: &str) -> Change {
    Change::Delete {
        kind: "Pod",
        name: name.to_owned(),
        graceful: true,
    }
}

/// Patches every slice of a Service, as another client.
pub(super) fn edit_slices(service: &str, patch: Value) -> Change {
    Change::EditSlices {
        service: service.to_owned(),
        patch,
    }
}

/// Deletes every slice of a Service, as another client.
pub(super) fn delete_slices(service: &str) -> Change {
    Change::DeleteSlices {
        service: service.to_owned(),
    }
}

/// A Service with one port and the selector `app: {name}`.
pub(super) fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {
            "selector": {"app": name}, "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
        },
    })
}

/// A ready pod of a Service.
pub(super) fn pod(name: &str, service: &str, node: &str, ips: &[&str]) -> Value {
    let ips: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": service}},
        "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 3600,
            "containers": [{"name": "main", "image": "image"}],
        },
        "status": {
            "phase": "Running", "podIP": ips.first().map(|ip| ip["ip"].clone()), "podIPs": ips,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        },
    })
}

/// A ready node with two CPUs; without a zone if `zone` is empty.
pub(super) fn node(name: &str, zone: &str) -> Value {
    let labels = if zone.is_empty() {
        json!({})
    } else {
        json!({"topology.kubernetes.io/zone": zone})
    };
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "2"}, "capacity": {"cpu": "2"},
        },
    })
}

/// An Endpoints object with one subset.
pub(super) fn endpoints(name: &str, ips: &[&str], port: u16) -> Value {
    let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
    json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name},
        "subsets": [{"addresses": addresses, "ports": [{"name": "http", "port": port, "protocol": "TCP"}]}],
    })
}

/// Pattern of a slice of the EndpointSlice controller.
pub(super) fn pod_slice(fields: &Value) -> Value {
    managed_by("endpointslice-controller.k8s.io", fields)
}

/// Pattern of a slice of the mirroring controller.
pub(super) fn mirrored_slice(fields: &Value) -> Value {
    managed_by("endpointslicemirroring-controller.k8s.io", fields)
}

fn managed_by(manager: &str, fields: &Value) -> Value {
    let mut slice = fields.clone();
    slice["metadata"]["labels"][MANAGED_BY_LABEL] = json!(manager);
    slice
}

/// Returns the object with one field set.
pub(super) fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let field = field.replace("~1", "/");
    if let Some(parent) = object.pointer_mut(parent) {
        match (parent.as_array_mut(), field.parse::<usize>()) {
            (Some(list), Ok(index)) if index < list.len() => list[index] = value,
            (Some(list), _) => list.push(value),
            (None, _) => parent[field] = value,
        }
    }
    object
}
