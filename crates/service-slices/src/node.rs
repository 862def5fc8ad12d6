//! What matters of a Node.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use k8s_openapi::api::core::v1 as api;
use slice_core::names::ZONE_LABEL;

/// What matters of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its zone; a label without a value is none (R63).
    pub zone: Option<Arc<str>>,
}

impl From<&api::Node> for Node {
    fn from(node: &api::Node) -> Self {
        let zone = node
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(ZONE_LABEL))
            .filter(|zone| !zone.is_empty());
        Self {
            zone: zone.map(|zone| zone.as_str().into()),
        }
    }
}

/// Where Nodes are looked up. Asked once per pod, so it should be quick; any `HashMap` will do.
pub trait Nodes {
    /// The Node of this name, if it is known.
    fn node(&self, name: &str) -> Option<&Node>;
}

impl<K: Borrow<str> + Eq + Hash, S: BuildHasher> Nodes for HashMap<K, Node, S> {
    fn node(&self, name: &str) -> Option<&Node> {
        self.get(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// R63, T-UTL-11: the region is of no interest.
    #[test]
    fn r63_a_node_is_its_zone() {
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
}
