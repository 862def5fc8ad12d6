//! What is known of the nodes.

use std::{collections::HashMap, sync::Arc};

use slice_reconciler::hints::NodeInfo;

use crate::{Node, NodeLookup as Lookup, NodeState};

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    by_name: HashMap<Arc<str>, NodeState>,
}

/// What a change of a node concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Concerned {
    /// The Services with pods on it (W10).
    pub(super) pods: bool,
    /// The Services with topology hints, given or refused (HD3, HD5).
    pub(super) hints: bool,
}

impl Nodes {
    pub(super) fn put(&mut self, node: NodeState) -> Concerned {
        let concerned = |before: Option<&NodeState>| Concerned {
            pods: before.is_none_or(|before| before.node != node.node),
            hints: before != Some(&node),
        };
        let concerned = concerned(self.by_name.get(&node.node.name));
        self.by_name.insert(Arc::clone(&node.node.name), node);
        concerned
    }

    pub(super) fn remove(&mut self, name: &str) -> Concerned {
        let known = self.by_name.remove(name).is_some();
        Concerned {
            pods: known,
            hints: known,
        }
    }

    /// What topology hints go by.
    pub(super) fn facts(&self) -> impl Iterator<Item = NodeInfo<'_>> {
        self.by_name.values().map(NodeState::topology_info)
    }
}

impl Lookup for Nodes {
    fn node(&self, name: &str) -> Option<&Node> {
        self.by_name.get(name).map(|state| &state.node)
    }
}
