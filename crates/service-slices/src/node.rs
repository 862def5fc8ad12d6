//! What matters of a Node.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use k8s_openapi::api::core::v1 as api;
use slice_core::names::ZONE_LABEL;

/// What matters of a Node, in strings like those of the pods: `Node` is kept, `Node<&str>` borrowed from the API's object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node<T = Arc<str>> {
    /// Its zone; a label without a value is none (R63).
    pub zone: Option<T>,
}

impl<'a> From<&'a api::Node> for Node<&'a str> {
    fn from(node: &'a api::Node) -> Self {
        let labels = node.metadata.labels.as_ref();
        let zone = labels.and_then(|labels| labels.get(ZONE_LABEL));
        Self {
            zone: zone.map(String::as_str).filter(|zone| !zone.is_empty()),
        }
    }
}

impl From<&api::Node> for Node {
    fn from(node: &api::Node) -> Self {
        Self {
            zone: Node::<&str>::from(node).zone.map(Into::into),
        }
    }
}

/// Where Nodes are looked up. Asked once per pod, so it should be quick; any `HashMap` will do.
pub trait Nodes<T = Arc<str>> {
    /// The Node of this name, if it is known.
    fn node(&self, name: &str) -> Option<&Node<T>>;
}

impl<T, K: Borrow<str> + Eq + Hash, S: BuildHasher> Nodes<T> for HashMap<K, Node<T>, S> {
    fn node(&self, name: &str) -> Option<&Node<T>> {
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
            Node::<Arc<str>>::from(&node).zone
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
