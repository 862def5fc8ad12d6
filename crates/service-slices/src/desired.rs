//! What the slices of a Service should hold.

use std::sync::Arc;

use slice_core::AddressType;
use slice_reconciler::Group;

use crate::{AddressProblem, Node, Nodes, Pod, PodEndpoint, Service, Text, groups::Groups, pod_endpoint::Presented};

/// What the slices of a Service should hold.
#[derive(Debug)]
pub struct Desired<'a, T: Text = Arc<str>> {
    /// The types of slices that the Service has, in order. Slices of another type are not wanted.
    pub address_types: &'static [AddressType],
    /// The endpoints by address type and ports, in that order. No pods, no groups; but the group of a pod is there even if
    /// the pod itself was left out or has no address of the type.
    pub groups: Vec<Group<PodEndpoint<'a, T>>>,
    /// What could not be published, by pod. It concerns nobody but the pods named.
    pub left_out: Vec<LeftOut<'a>>,
}

/// A pod, or an address of one, that could not be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pod {namespace}/{pod}: {reason}")]
pub struct LeftOut<'a> {
    /// The pod's namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub pod: &'a str,
    /// What is left out and why.
    pub reason: Reason<'a>,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason<'a> {
    /// The pod waits until its node is known (R65). The name is empty if the pod has no node.
    #[error("left out until its node {0:?} is known")]
    UnknownNode(&'a str),
    /// An address cannot be published (W23); the pod's other addresses are.
    #[error("address {address:?} left out: {problem}")]
    Address {
        /// As the pod has it.
        address: &'a str,
        /// What is wrong with it.
        problem: AddressProblem,
    },
}

/// Derives what the slices of a Service should hold from all pods that its selector matches (R55 step 2, §8–§11).
///
/// Nothing is allocated per pod.
#[must_use]
pub fn desired<'a, T, N>(service: &Service, pods: impl IntoIterator<Item = &'a Pod<T>>, nodes: &'a N) -> Desired<'a, T>
where
    T: Text + 'a,
    N: Nodes<T> + ?Sized,
{
    let pods = pods.into_iter();
    let mut groups = Groups::new(service, pods.size_hint().0);
    let mut left_out = Vec::new();
    for pod in pods.filter(|pod| pod.eligible) {
        let groups = groups.of(pod);
        match present(service, pod, nodes) {
            Ok((node, presented)) => {
                for group in groups {
                    let endpoints = PodEndpoint::each(pod, node, presented, group.address_type);
                    group.endpoints.extend(endpoints);
                }
                if !pod.addresses.refused().is_empty() {
                    left_out.extend(refused_addresses(service, pod));
                }
            }
            Err(reason) => left_out.push(because(pod, reason)),
        }
    }
    left_out.sort_by_key(|left_out| (left_out.namespace, left_out.pod));
    Desired {
        address_types: service.families.address_types(),
        groups: groups.into_sorted(),
        left_out,
    }
}

/// On which node a pod is an endpoint, and how the Service presents it.
fn present<'a, T, N>(
    service: &Service,
    pod: &'a Pod<T>,
    nodes: &'a N,
) -> Result<(Option<&'a Node<T>>, Presented), Reason<'a>>
where
    T: Text,
    N: Nodes<T> + ?Sized,
{
    let node = pod.node.as_deref().and_then(|name| nodes.node(name));
    if node.is_none() && !service.publish_not_ready_addresses {
        return Err(Reason::UnknownNode(pod.node.as_deref().unwrap_or_default()));
    }
    let ready = service.publish_not_ready_addresses || (pod.ready && !pod.terminating);
    let hostname = pod.hostname_for(&service.namespace, &service.name);
    let presented = Presented::NOTHING
        .and(Presented::READY, ready)
        .and(Presented::SERVING, pod.ready)
        .and(Presented::TERMINATING, pod.terminating)
        .and(Presented::HOSTNAME, hostname.is_some());
    Ok((node, presented))
}

/// Those that the Service would have published.
fn refused_addresses<'a, T>(service: &Service, pod: &'a Pod<T>) -> impl Iterator<Item = LeftOut<'a>>
where
    T: Text,
{
    let wanted = service.families.address_types();
    let refused = pod.addresses.refused().iter();
    refused
        .filter(|refused| {
            refused
                .address_type
                .is_none_or(|address_type| wanted.contains(&address_type))
        })
        .map(|refused| {
            because(
                pod,
                Reason::Address {
                    address: &refused.text,
                    problem: refused.problem,
                },
            )
        })
}

fn because<'a, T: Text>(pod: &'a Pod<T>, reason: Reason<'a>) -> LeftOut<'a> {
    LeftOut {
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
