//! Index of the pods of all namespaces by node.

use std::{collections::HashMap, sync::Arc};

use slice_core::{TargetIdentity, is_sparse, shrink_if_sparse};

use crate::Pod;

/// The identities of the pods on each node, by node name. One index for all namespaces: a node event visits only pods on the node.
/// A kubelet limits the number of pods on its node, so that a scan is cheap.
#[derive(Debug, Default)]
pub(super) struct PodsByNode {
    by_node: HashMap<Arc<str>, Vec<Arc<TargetIdentity>>>,
}

impl PodsByNode {
    pub(super) fn insert(&mut self, pod: &Pod) {
        if let Some(node) = &pod.node {
            let pods = self.by_node.entry(Arc::clone(node)).or_default();
            pods.push(Arc::clone(&pod.identity));
        }
    }

    pub(super) fn remove(&mut self, pod: &Pod) {
        if let Some(node) = &pod.node
            && let Some(pods) = self.by_node.get_mut(node)
            && let Some(position) = pods.iter().position(|known| Arc::ptr_eq(known, &pod.identity))
        {
            pods.swap_remove(position);
            if pods.is_empty() {
                self.by_node.remove(node);
                shrink_if_sparse(&mut self.by_node);
            } else if is_sparse(pods.len(), pods.capacity()) {
                pods.shrink_to(2 * pods.len());
            }
        }
    }

    /// Replaces a pod by a newer version of it, or by another pod of the same name.
    pub(super) fn replace(&mut self, old: &Pod, new: &Pod) {
        if old.node != new.node || !Arc::ptr_eq(&old.identity, &new.identity) {
            self.remove(old);
            self.insert(new);
        }
    }

    /// The number of nodes that memory is allocated for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.by_node.capacity()
    }

    /// The pods on a node.
    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &TargetIdentity> {
        self.by_node.get(node).into_iter().flatten().map(|identity| &**identity)
    }
}
