//! Compact form of a Node, and the lookup of Nodes by name.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash},
    ptr,
    sync::Arc,
};

use k8s_openapi::api::core::v1 as api;
use slice_core::{Interner, well_known::ZONE_LABEL};
use slice_reconciler::hints::NodeInfo;

use crate::quantity::parse_cpu_millis;

/// Labels of nodes that do not count towards zone ratios, whatever their value.
const EXCLUDED: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// Name and zone of a Node, as endpoints publish them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: Arc<str>,
    /// Its zone; an empty label value means no zone (R63).
    pub zone: Option<Arc<str>>,
}

impl Node {
    /// Converts an API object, with interned strings.
    pub fn from_k8s(node: &api::Node, interner: &mut Interner) -> Self {
        let metadata = &node.metadata;
        let zone = metadata.labels.as_ref().and_then(|labels| labels.get(ZONE_LABEL));
        Self {
            name: interner.intern(metadata.name.as_deref().unwrap_or_default()),
            zone: zone.filter(|zone| !zone.is_empty()).map(|zone| interner.intern(zone)),
        }
    }
}

impl From<&api::Node> for Node {
    fn from(node: &api::Node) -> Self {
        Self::from_k8s(node, &mut Interner::default())
    }
}

/// A [`Node`] with its readiness and CPUs, the input of topology hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// Name and zone.
    pub node: Node,
    ready: bool,
    excluded: bool,
    cpu_milli: Option<u64>,
}

impl NodeState {
    /// Converts an API object, with interned strings.
    pub fn from_k8s(node: &api::Node, interner: &mut Interner) -> Self {
        let labels = node.metadata.labels.as_ref();
        let status = node.status.as_ref();
        let mut conditions = status.into_iter().flat_map(|status| status.conditions.iter().flatten());
        let ready = conditions.find(|condition| condition.type_ == "Ready");
        let cpu = status.and_then(|status| status.allocatable.as_ref()?.get("cpu"));
        Self {
            node: Node::from_k8s(node, interner),
            ready: ready.is_some_and(|condition| condition.status == "True"),
            excluded: labels.is_some_and(|labels| EXCLUDED.iter().any(|label| labels.contains_key(*label))),
            cpu_milli: cpu.and_then(|cpu| parse_cpu_millis(&cpu.0)),
        }
    }

    /// The input of the topology cache.
    #[must_use]
    pub fn topology_info(&self) -> NodeInfo<'_> {
        NodeInfo {
            ready: self.ready,
            excluded: self.excluded,
            zone: self.node.zone.as_deref(),
            cpu_milli: self.cpu_milli,
        }
    }
}

impl From<&api::Node> for NodeState {
    fn from(node: &api::Node) -> Self {
        Self::from_k8s(node, &mut Interner::default())
    }
}

/// Lookup of Nodes by name, called once per pod and sync. Implemented by `HashMap`, keyed by the name of the Node.
pub trait NodeLookup {
    /// The Node of this name, if it is known.
    fn node(&self, name: &str) -> Option<&Node>;
}

impl<K: Borrow<str> + Eq + Hash, S: BuildHasher> NodeLookup for HashMap<K, Node, S> {
    /// Returns `None` for a Node under another key than its name: an endpoint must have the node name of its pod.
    fn node(&self, name: &str) -> Option<&Node> {
        let has_name = |node: &&Node| ptr::eq(&raw const *node.name, name) || *node.name == *name;
        self.get(name).filter(has_name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn node_is_found_only_under_its_own_name() {
        let node = Node {
            name: "node-1".into(),
            zone: None,
        };
        let nodes = HashMap::from([("node-1".to_owned(), node.clone()), ("node-2".to_owned(), node.clone())]);
        assert_eq!(nodes.node("node-1"), Some(&node));
        assert_eq!(nodes.node("node-2"), None);
    }

    /// The zone is the only topology label that is read; the region is ignored (R63, T-UTL-11).
    #[test]
    fn r63_zone_of_a_node() {
        let zone = |labels: Value| {
            let node: api::Node = serde_json::from_value(json!({"metadata": {"labels": labels}})).unwrap();
            Node::from(&node).zone
        };
        let (zone_key, region_key) = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region");
        assert_eq!(
            zone(json!({zone_key: "us-central1-a", region_key: "us-central1"})).as_deref(),
            Some("us-central1-a")
        );
        assert_eq!(zone(json!({region_key: "us-central1"})), None);
        assert_eq!(zone(json!({zone_key: ""})), None);
        assert_eq!(zone(Value::Null), None);
    }

    fn state(node: Value) -> NodeState {
        NodeState::from(&serde_json::from_value::<api::Node>(node).unwrap())
    }

    #[test]
    fn h22_cpus_are_parsed_in_thousandths() {
        for (quantity, expected) in [("4", Some(4000)), ("3920m", Some(3920)), ("many", None)] {
            let node = state(json!({"status": {"allocatable": {"cpu": quantity}}}));
            assert_eq!(node.topology_info().cpu_milli, expected, "{quantity:?}");
        }
        assert_eq!(state(json!({})).topology_info().cpu_milli, None);
    }

    #[test]
    fn r25_readiness_and_role_of_a_node() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        for (conditions, labels, expected) in [
            (json!([condition("Ready", "True")]), json!({}), (true, false)),
            (json!([condition("Ready", "Unknown")]), json!({}), (false, false)),
            (json!([condition("DiskPressure", "True")]), json!({}), (false, false)),
            (
                Value::Null,
                json!({"node-role.kubernetes.io/control-plane": ""}),
                (false, true),
            ),
            (
                Value::Null,
                json!({"node-role.kubernetes.io/master": "x"}),
                (false, true),
            ),
        ] {
            let node = state(json!({"metadata": {"labels": labels}, "status": {"conditions": conditions}}));
            assert_eq!(
                (node.topology_info().ready, node.topology_info().excluded),
                expected,
                "{conditions} {labels}"
            );
        }
    }
}
