//! Cache of the nodes.

use std::{collections::HashMap, sync::Arc};

use slice_core::shrink_if_sparse;
use slice_reconciler::hints::NodeInfo;

use crate::{Node, NodeLookup, NodeState};

/// All nodes, by name.
#[derive(Debug, Default)]
pub(super) struct NodeCache {
    by_name: HashMap<Arc<str>, NodeState>,
}

/// Which Services a node change affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeImpact {
    /// Services with pods on the node (W10).
    pub(super) endpoints: bool,
    /// Services with topology hints, assigned or unavailable (HD3, HD5).
    pub(super) hints: bool,
}

impl NodeCache {
    /// Adds or replaces a node.
    pub(super) fn apply(&mut self, node: NodeState) -> NodeImpact {
        let cached = self.by_name.get(&node.node.name);
        let impact = NodeImpact {
            endpoints: cached.is_none_or(|cached| cached.node != node.node),
            hints: cached != Some(&node),
        };
        self.by_name.insert(Arc::clone(&node.node.name), node);
        impact
    }

    pub(super) fn remove(&mut self, name: &str) -> NodeImpact {
        let known = self.by_name.remove(name).is_some();
        shrink_if_sparse(&mut self.by_name);
        NodeImpact {
            endpoints: known,
            hints: known,
        }
    }

    /// The number of nodes that memory is allocated for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.by_name.capacity()
    }

    /// The input of the topology cache.
    pub(super) fn topology_info(&self) -> impl Iterator<Item = NodeInfo<'_>> {
        self.by_name.values().map(NodeState::topology_info)
    }
}

impl NodeLookup for NodeCache {
    fn node(&self, name: &str) -> Option<&Node> {
        self.by_name.get(name).map(|state| &state.node)
    }
}
