//! What is played: steps, each a few changes, and rest after each.

use serde_json::{Value, json};
use slice_core::well_known::MANAGED_BY_LABEL;

use super::expect::Expectation;

/// A story that is played on both sides.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// The rules and test cases that it plays.
    pub(super) rules: &'static [&'static str],
    pub(super) steps: Vec<Step>,
    /// Whether it depends on all nodes of the cluster, so that no other may be played at the same time.
    pub(super) alone: bool,
}

/// Some changes, after which both sides come to rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub(super) changes: Vec<Change>,
    /// The documented deviations, and what each of them may change here.
    pub(super) deviations: Vec<(&'static str, &'static [Aspect])>,
    /// What is to be seen then.
    pub(super) expectations: Vec<Expectation>,
}

impl Step {
    /// Whether we differ here on purpose.
    pub(super) fn excuses(&self, aspect: Aspect) -> bool {
        self.deviations.iter().any(|(_, aspects)| aspects.contains(&aspect))
    }

    /// Whether the controllers are told of one change only. A pod that goes at once is seen to end before it is gone.
    pub(super) fn is_single(&self) -> bool {
        match &*self.changes {
            [Change::Delete { kind, graceful, .. }] => *kind != "Pod" || *graceful,
            changes => changes.len() == 1,
        }
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    /// What is there at rest.
    Slices,
    /// How many writes it took.
    Writes,
    Events,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
    /// The object is to be so.
    Apply(Value),
    /// The object goes, at once or, if it is a pod with a grace period, after a while.
    Delete {
        kind: &'static str,
        name: String,
        graceful: bool,
    },
    /// Every slice of a Service is edited by hand.
    EditSlices { service: String, patch: Value },
    /// Every slice of a Service is deleted by hand.
    DeleteSlices { service: String },
}

impl Scenario {
    pub(super) fn new(name: &'static str, rules: &'static [&'static str]) -> Self {
        Self {
            name,
            rules,
            steps: Vec::new(),
            alone: false,
        }
    }

    /// It depends on all nodes of the cluster.
    pub(super) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Something happens.
    pub(super) fn then(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.steps.push(Step {
            changes: changes.into_iter().collect(),
            ..Step::default()
        });
        self
    }

    /// The step before is one where we do something else, for this reason, in this respect.
    pub(super) fn unlike(mut self, deviation: &'static str, aspects: &'static [Aspect]) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.deviations.push((deviation, aspects));
        }
        self
    }

    /// After the step before there are these slices, as far as they are described.
    pub(super) fn shows(self, slices: impl IntoIterator<Item = Value>) -> Self {
        self.expect(Expectation::Slices(slices.into_iter().collect()))
    }

    /// After the step before, a client on this node in this zone reaches these addresses.
    pub(super) fn reaches(self, node: &str, zone: &'static str, addresses: &[&'static str]) -> Self {
        self.expect(Expectation::Reaches {
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

/// The object is to be so.
pub(super) fn apply(object: &Value) -> Change {
    Change::Apply(object.clone())
}

/// The object goes at once.
pub(super) fn delete(kind: &'static str, name: &str) -> Change {
    Change::Delete {
        kind,
        name: name.to_owned(),
        graceful: false,
    }
}

/// The pod begins to end, and goes on for as long as nobody says that it has.
pub(super) fn terminate(name: &str) -> Change {
    Change::Delete {
        kind: "Pod",
        name: name.to_owned(),
        graceful: true,
    }
}

/// Every slice of a Service is edited by hand.
pub(super) fn edit_slices(service: &str, patch: Value) -> Change {
    Change::EditSlices {
        service: service.to_owned(),
        patch,
    }
}

/// Every slice of a Service is deleted by hand.
pub(super) fn delete_slices(service: &str) -> Change {
    Change::DeleteSlices {
        service: service.to_owned(),
    }
}

/// A Service with one port that selects `app` of its own name.
pub(super) fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {
            "selector": {"app": name}, "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
        },
    })
}

/// A ready pod of a Service, on a node.
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

/// A ready node with two CPUs in a zone; none, if it is empty.
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

/// What a slice of the controller for Services looks like.
pub(super) fn of_pods(more: &Value) -> Value {
    described("endpointslice-controller.k8s.io", more)
}

/// What a slice of the mirroring controller looks like.
pub(super) fn mirrored(more: &Value) -> Value {
    described("endpointslicemirroring-controller.k8s.io", more)
}

fn described(manager: &str, more: &Value) -> Value {
    let mut slice = more.clone();
    slice["metadata"]["labels"][MANAGED_BY_LABEL] = json!(manager);
    slice
}

/// The object with one thing changed.
pub(super) fn with(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let field = field.replace("~1", "/");
    if let Some(parent) = object.pointer_mut(parent) {
        match (parent.as_array_mut(), field.parse::<usize>()) {
            (Some(list), Ok(place)) if place < list.len() => list[place] = value,
            (Some(list), _) => list.push(value),
            (None, _) => parent[field] = value,
        }
    }
    object
}
