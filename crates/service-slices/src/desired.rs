//! What the slices of a Service should hold.

use slice_core::AddressType;
use slice_reconciler::Group;

use crate::{AddressError, Node, NodeLookup, Pod, PodEndpoint, Service, groups::Groups};

/// What the slices of a Service should hold.
#[derive(Debug)]
pub struct Desired<'a> {
    /// The types of slices that the Service has, in order. Slices of another type are not wanted.
    pub address_types: &'static [AddressType],
    /// The endpoints by address type and ports, in that order. No pods, no groups; but the group of a pod is there even if
    /// the pod itself was left out or has no address of the type.
    pub groups: Vec<Group<PodEndpoint<'a>>>,
    /// What could not be published, by pod. It concerns nobody but the pods named.
    pub skipped: Vec<SkippedPod<'a>>,
}

/// A pod, or an address of one, that could not be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pod {namespace}/{pod}: {reason}")]
pub struct SkippedPod<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub pod: &'a str,
    /// What is left out and why.
    pub reason: SkipReason<'a>,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason<'a> {
    /// The pod waits until its node is known (R65). The name is empty if the pod has no node.
    #[error("left out until its node {0:?} is known")]
    NodeNotFound(&'a str),
    /// An address cannot be published (W23); the pod's other addresses are.
    #[error("address {address:?} left out: {problem}")]
    Address {
        /// As the pod has it.
        address: &'a str,
        /// What is wrong with it.
        problem: AddressError,
    },
}

/// Derives what the slices of a Service should hold from all pods that its selector matches (R55 step 2, §8–§11).
///
/// Nothing is allocated per pod.
#[must_use]
pub fn desired<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    nodes: &'a (impl NodeLookup + ?Sized),
) -> Desired<'a> {
    let pods = pods.into_iter();
    let mut groups = Groups::new(service, pods.size_hint().0);
    let mut skipped = Vec::new();
    for pod in pods.filter(|pod| pod.eligible) {
        let groups = groups.of(pod);
        match node_of(service, pod, nodes) {
            Ok(node) => {
                for group in groups {
                    let endpoints = PodEndpoint::for_pod(pod, node, service, group.address_type);
                    group.endpoints.extend(endpoints);
                }
                if !pod.addresses.rejected().is_empty() {
                    skipped.extend(refused_addresses(service, pod));
                }
            }
            Err(reason) => skipped.push(because(pod, reason)),
        }
    }
    skipped.sort_by_key(|skipped| (skipped.namespace, skipped.pod));
    Desired {
        address_types: service.families.address_types(),
        groups: groups.into_sorted(),
        skipped,
    }
}

/// The node of a pod; a pod on an unknown node waits until it is known (R65), unless the Service publishes pods that are not
/// ready.
fn node_of<'a>(
    service: &Service,
    pod: &'a Pod,
    nodes: &'a (impl NodeLookup + ?Sized),
) -> Result<Option<&'a Node>, SkipReason<'a>> {
    let node = pod.node.as_deref().and_then(|name| nodes.node(name));
    if node.is_none() && !service.publish_not_ready_addresses {
        return Err(SkipReason::NodeNotFound(pod.node.as_deref().unwrap_or_default()));
    }
    Ok(node)
}

/// Those that the Service would have published.
fn refused_addresses<'a>(service: &Service, pod: &'a Pod) -> impl Iterator<Item = SkippedPod<'a>> {
    let wanted = service.families.address_types();
    let refused = pod.addresses.rejected().iter();
    refused
        .filter(|refused| {
            refused
                .address_type
                .is_none_or(|address_type| wanted.contains(&address_type))
        })
        .map(|refused| {
            because(
                pod,
                SkipReason::Address {
                    address: &refused.text,
                    problem: refused.problem,
                },
            )
        })
}

fn because<'a>(pod: &'a Pod, reason: SkipReason<'a>) -> SkippedPod<'a> {
    SkippedPod {
        namespace: pod.namespace(),
        pod: pod.name(),
        reason,
    }
}

#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod ports;
#[cfg(test)]
mod sources;
