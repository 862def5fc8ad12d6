//! What endpoints publish of a Node.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, Hash},
    ptr,
    sync::Arc,
};

use k8s_openapi::api::core::v1 as api;
use slice_core::{Interner, well_known::ZONE_LABEL};

/// What endpoints publish of a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: Arc<str>,
    /// Its zone; a label without a value is none (R63).
    pub zone: Option<Arc<str>>,
}

impl Node {
    /// What matters of an object of the API, with interned strings.
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

/// Lookup of Nodes by name, once per pod and sync. Any `HashMap` will do in which each is under its own name.
pub trait NodeLookup {
    /// The Node of this name, if it is known.
    fn node(&self, name: &str) -> Option<&Node>;
}

impl<K: Borrow<str> + Eq + Hash, S: BuildHasher> NodeLookup for HashMap<K, Node, S> {
    /// A Node under another name than its own is not known: endpoints would be published with a node that their pods do not name.
    fn node(&self, name: &str) -> Option<&Node> {
        let is_own_name = |node: &&Node| ptr::eq(&raw const *node.name, name) || *node.name == *name;
        self.get(name).filter(is_own_name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_node_is_known_under_its_own_name_alone() {
        let node = Node {
            name: "node-1".into(),
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
