//! A pod as an endpoint of a Service.

use std::slice;

use slice_core::{Address, AddressType, Conditions, Endpoint, EndpointSource, Target, TargetView};

use crate::{Node, Pod, Service};

/// A pod as an endpoint of a Service. A small view: there is one per pod and sync.
#[derive(Clone, Copy, Debug)]
pub struct PodEndpoint<'a> {
    /// The pod.
    pub pod: &'a Pod,
    /// The node of the pod, if it is in the cache.
    pub node: Option<&'a Node>,
    /// Condition `ready`.
    ready: bool,
    /// Whether the hostname is published.
    has_hostname: bool,
    is_ipv6: bool,
    /// Position of its address, from one, if each address is an endpoint of its own; zero for all addresses.
    address_position: u32,
}

impl<'a> PodEndpoint<'a> {
    /// The endpoints of a pod for one address type: usually one, none without an address (R55 step 2d, R60).
    pub(crate) fn for_pod(
        pod: &'a Pod,
        node: Option<&'a Node>,
        service: &Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Self> {
        let addresses = pod.addresses.of(address_type).len();
        let separate = pod.addresses.one_endpoint_each();
        let count = if separate { addresses } else { addresses.min(1) };
        let ready = service.publish_not_ready_addresses || (pod.ready && !pod.terminating);
        let has_hostname = pod.hostname_for(&service.namespace, &service.name).is_some();
        (1..=u32::MAX).take(count).map(move |position| Self {
            pod,
            node,
            ready,
            has_hostname,
            is_ipv6: address_type == AddressType::IPv6,
            address_position: if separate { position } else { 0 },
        })
    }
}

impl EndpointSource for PodEndpoint<'_> {
    #[inline]
    fn addresses(&self) -> &[Address] {
        let all = self.pod.addresses.of(if self.is_ipv6 {
            AddressType::IPv6
        } else {
            AddressType::IPv4
        });
        match self.address_position {
            0 => all,
            position => slice::from_ref(&all[position as usize - 1]),
        }
    }

    #[inline]
    fn conditions(&self) -> Conditions {
        Conditions {
            ready: Some(self.ready),
            serving: Some(self.pod.ready),
            terminating: Some(self.pod.terminating),
        }
    }

    #[inline]
    fn hostname(&self) -> Option<&str> {
        self.pod.hostname.as_deref().filter(|_| self.has_hostname)
    }

    /// Prefers the string of the node, which the endpoints of all its pods share.
    #[inline]
    fn node_name(&self) -> Option<&str> {
        match self.node {
            Some(node) => Some(&node.name),
            None => self.pod.node.as_deref(),
        }
    }

    #[inline]
    fn zone(&self) -> Option<&str> {
        self.node?.zone.as_deref()
    }

    #[inline]
    fn target(&self) -> Option<TargetView<'_>> {
        Some(TargetView::pod(&self.pod.identity))
    }

    #[inline]
    fn to_endpoint(&self) -> Endpoint {
        Endpoint {
            addresses: self.addresses().into(),
            conditions: self.conditions(),
            hostname: self.pod.hostname.clone().filter(|_| self.has_hostname),
            node_name: match self.node {
                Some(node) => Some(node.name.clone()),
                None => self.pod.node.clone(),
            },
            zone: self.node.and_then(|node| node.zone.clone()),
            target: Some(Target::pod(self.pod.identity.clone())),
            hints: None,
            deprecated_topology: None,
        }
    }
}
