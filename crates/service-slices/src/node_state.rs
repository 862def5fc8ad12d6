//! What matters of a Node to the controller, beyond what endpoints say of it.

use k8s_openapi::api::core::v1 as api;
use slice_core::Interner;
use slice_reconciler::hints::NodeInfo;

use crate::{Node, quantity::milli};

/// Labels of nodes that do not count when zones are weighed, whatever their value.
const EXCLUDED: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// What matters of a Node: what endpoints say of it, and what topology hints go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// What endpoints say of it.
    pub node: Node,
    ready: bool,
    excluded: bool,
    cpu_milli: Option<u64>,
}

impl NodeState {
    /// What topology hints go by.
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

impl NodeState {
    /// What matters of an object of the API, with interned strings.
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
            cpu_milli: cpu.and_then(|cpu| milli(&cpu.0)),
        }
    }
}

impl From<&api::Node> for NodeState {
    fn from(node: &api::Node) -> Self {
        Self::from_k8s(node, &mut Interner::default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn state(node: Value) -> NodeState {
        NodeState::from(&serde_json::from_value::<api::Node>(node).unwrap())
    }

    #[test]
    fn h22_cpus_are_counted_in_thousandths() {
        for (quantity, expected) in [("4", Some(4000)), ("3920m", Some(3920)), ("many", None)] {
            let node = state(json!({"status": {"allocatable": {"cpu": quantity}}}));
            assert_eq!(node.topology_info().cpu_milli, expected, "{quantity:?}");
        }
        assert_eq!(state(json!({})).topology_info().cpu_milli, None);
    }

    #[test]
    fn r25_readiness_and_role_count() {
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
