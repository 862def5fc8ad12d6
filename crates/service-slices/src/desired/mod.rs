//! Desired endpoints of a Service.

#[cfg(test)]
mod tests;

use slice_core::AddressType;
use slice_reconciler::Group;

use crate::{AddressError, Node, NodeLookup, Pod, PodEndpoint, Service, groups::GroupBuilder};

/// Desired endpoints of a Service.
#[derive(Debug)]
pub struct Desired<'a> {
    /// Address types of the Service, in order. Slices of any other type are to be deleted.
    pub address_types: &'static [AddressType],
    /// Endpoints by address type and ports, sorted by both. Without pods there are no groups. A pod has its group even if the
    /// pod was skipped or has no address of the type.
    pub groups: Vec<Group<PodEndpoint<'a>>>,
    /// Pods and addresses that were skipped, sorted by pod. Other pods are not affected.
    pub skipped: Vec<SkippedPod<'a>>,
}

/// A pod, or an address of a pod, that is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pod {namespace}/{pod}: {reason}")]
pub struct SkippedPod<'a> {
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// Name of the pod.
    pub pod: &'a str,
    /// The skipped part and why.
    pub reason: SkipReason<'a>,
}

/// Why a pod or an address was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason<'a> {
    /// The node is not in the cache; the pod is published once it is (R65). The name is empty if the pod has no node.
    #[error("skipped until its node {0:?} is known")]
    NodeNotFound(&'a str),
    /// One address cannot be published; the other addresses of the pod are (W23).
    #[error("address {address:?} skipped: {error}")]
    Address {
        /// The address, as in the pod.
        address: &'a str,
        /// Why it cannot be published.
        error: AddressError,
    },
}

/// Derives the endpoints of a Service from all pods that its selector matches (R55 step 2, §8–§11).
///
/// Allocates nothing per pod.
#[must_use]
pub fn desired<'a>(
    service: &Service,
    pods: impl IntoIterator<Item = &'a Pod>,
    nodes: &'a (impl NodeLookup + ?Sized),
) -> Desired<'a> {
    let pods = pods.into_iter();
    let mut builder = GroupBuilder::new(service, pods.size_hint().0);
    let mut skipped = Vec::new();
    for pod in pods.filter(|pod| pod.eligible) {
        let groups = builder.groups_for(pod);
        match find_node(service, pod, nodes) {
            Ok(node) => {
                for group in groups {
                    let endpoints = PodEndpoint::for_pod(pod, node, service, group.address_type);
                    group.endpoints.extend(endpoints);
                }
                if !pod.addresses.rejected().is_empty() {
                    skipped.extend(rejected_addresses(service, pod));
                }
            }
            Err(reason) => skipped.push(skipped_pod(pod, reason)),
        }
    }
    skipped.sort_by_key(|skipped| (skipped.namespace, skipped.pod));
    Desired {
        address_types: service.families.address_types(),
        groups: builder.into_sorted(),
        skipped,
    }
}

/// The node of a pod. A node that is not in the cache is an error (R65), unless the Service publishes pods that are not ready.
fn find_node<'a>(
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

/// Rejected addresses of a pod, of the Service's address types or of an unknown one.
fn rejected_addresses<'a>(service: &Service, pod: &'a Pod) -> impl Iterator<Item = SkippedPod<'a>> {
    let address_types = service.families.address_types();
    let rejected = pod.addresses.rejected().iter();
    rejected
        .filter(|rejected| {
            rejected
                .address_type
                .is_none_or(|address_type| address_types.contains(&address_type))
        })
        .map(|rejected| {
            skipped_pod(
                pod,
                SkipReason::Address {
                    address: &rejected.text,
                    error: rejected.error,
                },
            )
        })
}

fn skipped_pod<'a>(pod: &'a Pod, reason: SkipReason<'a>) -> SkippedPod<'a> {
    SkippedPod {
        namespace: pod.namespace(),
        pod: pod.name(),
        reason,
    }
}
