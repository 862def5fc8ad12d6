//! What matters of a Node.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash},
    ptr,
    sync::Arc,
};

use k8s_openapi::api::core::v1 as api;
use slice_core::{Text, names::ZONE_LABEL};

/// What matters of a Node, in strings like those of the pods: `Node` is kept, `Node<&str>` borrowed from the API's object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<T = Arc<str>> {
    /// Its name, under which endpoints are published that are on it.
    pub name: T,
    /// Its zone; a label without a value is none (R63).
    pub zone: Option<T>,
}

impl<'a> From<&'a api::Node> for Node<&'a str> {
    fn from(node: &'a api::Node) -> Self {
        let metadata = &node.metadata;
        let zone = metadata.labels.as_ref().and_then(|labels| labels.get(ZONE_LABEL));
        Self {
            name: metadata.name.as_deref().unwrap_or_default(),
            zone: zone.map(String::as_str).filter(|zone| !zone.is_empty()),
        }
    }
}

impl From<&api::Node> for Node {
    fn from(node: &api::Node) -> Self {
        Node::<&str>::from(node).map(|text| Arc::from(*text))
    }
}

impl<T> Node<T> {
    /// The same node in other strings.
    pub fn map<'a, U>(&'a self, mut to: impl FnMut(&'a T) -> U) -> Node<U> {
        Node {
            name: to(&self.name),
            zone: self.zone.as_ref().map(to),
        }
    }
}

/// Where Nodes are looked up. Asked once per pod, so it should be quick; any `HashMap` will do in which each is under its own name.
pub trait Nodes<T = Arc<str>> {
    /// The Node of this name, if it is known.
    fn node(&self, name: &str) -> Option<&Node<T>>;
}

impl<T: Text, K: Borrow<str> + Eq + Hash, S: BuildHasher> Nodes<T> for HashMap<K, Node<T>, S> {
    /// A Node under another name than its own is not known: endpoints would be published with a node that their pods do not name.
    fn node(&self, name: &str) -> Option<&Node<T>> {
        let (key, node) = self.get_key_value(name)?;
        let key: &str = key.borrow();
        (ptr::eq(key, &raw const *node.name) || *key == *node.name).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_node_is_known_under_its_own_name_alone() {
        let node = Node {
            name: "node-1",
            zone: None,
        };
        let nodes = HashMap::from([("node-1".to_owned(), node.clone()), ("node-2".to_owned(), node.clone())]);
        assert_eq!(nodes.node("node-1"), Some(&node));
        assert_eq!(nodes.node("node-2"), None);
    }

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
