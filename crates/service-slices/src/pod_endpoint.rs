//! A pod as an endpoint.

use std::{ptr, slice, sync::Arc};

use slice_core::{Address, AddressType, Conditions, Endpoint, EndpointRef, EndpointSource, Target, TargetRef, Text};

use crate::{Node, Pod};

/// A pod as an endpoint of a Service: what the pod does not say by itself, and the pod. Small, because there is one for
/// every pod on every sync.
#[derive(Debug)]
pub struct PodEndpoint<'a, T: Text = Arc<str>> {
    /// The pod.
    pub pod: &'a Pod<T>,
    /// The node it runs on, if it is known.
    pub node: Option<&'a Node<T>>,
    presented: Presented,
    /// Which one of its addresses is meant, counted from one, where each is an endpoint of its own; zero means all.
    only: u32,
}

/// How a Service presents a pod. One number instead of some fields of a byte each: endpoints are copied from table to table, and
/// where bytes were written one by one, the processor waits before it reads them together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented(u32);

impl Presented {
    pub(crate) const READY: Self = Self(1);
    pub(crate) const SERVING: Self = Self(1 << 1);
    pub(crate) const TERMINATING: Self = Self(1 << 2);
    /// Its hostname is published.
    pub(crate) const HOSTNAME: Self = Self(1 << 3);
    /// With its IPv6 addresses, and otherwise with those of IPv4.
    const IPV6: Self = Self(1 << 4);

    /// So far nothing is said.
    pub(crate) const NOTHING: Self = Self(0);

    /// Says one thing more, if it is true.
    #[inline]
    pub(crate) fn and(self, fact: Self, is_true: bool) -> Self {
        Self(self.0 | if is_true { fact.0 } else { 0 })
    }

    #[inline]
    fn says(self, fact: Self) -> bool {
        self.0 & fact.0 != 0
    }
}

#[expect(
    clippy::expl_impl_clone_on_copy,
    reason = "a derived one would be for strings that are `Copy`"
)]
impl<T: Text> Clone for PodEndpoint<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Text> Copy for PodEndpoint<'_, T> {}

impl<'a, T: Text> PodEndpoint<'a, T> {
    /// The endpoints that a pod is with its addresses of a family: usually one, none without an address (R55 step 2d, R60).
    pub(crate) fn each(
        pod: &'a Pod<T>,
        node: Option<&'a Node<T>>,
        presented: Presented,
        address_type: AddressType,
    ) -> impl Iterator<Item = Self> {
        let addresses = pod.addresses.of(address_type).len();
        let apart = pod.addresses.are_apart();
        let count = if apart { addresses } else { addresses.min(1) };
        let presented = presented.and(Presented::IPV6, address_type == AddressType::IPv6);
        (1..=u32::MAX).take(count).map(move |number| Self {
            pod,
            node,
            presented,
            only: if apart { number } else { 0 },
        })
    }

    /// How the Service presents it.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    pub fn conditions(&self) -> Conditions {
        Conditions {
            ready: Some(self.presented.says(Presented::READY)),
            serving: Some(self.presented.says(Presented::SERVING)),
            terminating: Some(self.presented.says(Presented::TERMINATING)),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn addresses(&self) -> &[Address] {
        let all = self.pod.addresses.of(if self.presented.says(Presented::IPV6) {
            AddressType::IPv6
        } else {
            AddressType::IPv4
        });
        match self.only {
            0 => all,
            // Never beyond the end; and what could panic would be looked at even where nobody asks for addresses.
            number => all.get(number as usize - 1).map_or(&[], slice::from_ref),
        }
    }

    /// The zone of its node.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    pub fn zone(&self) -> Option<&T> {
        self.node.and_then(|node| node.zone.as_ref())
    }

    /// As the node has it, which many pods share, and so it is at hand.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn node_name(&self) -> Option<&T> {
        match self.node {
            Some(node) => Some(&node.name),
            None => self.pod.node.as_ref(),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn hostname(&self) -> Option<&T> {
        if self.presented.says(Presented::HOSTNAME) {
            self.pod.hostname.as_ref()
        } else {
            None
        }
    }
}

impl<T: Text> EndpointSource for PodEndpoint<'_, T> {
    type Text = T;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn view(&self) -> EndpointRef<'_> {
        EndpointRef {
            addresses: self.addresses(),
            conditions: self.conditions(),
            hostname: self.hostname().map(|hostname| &**hostname),
            node_name: self.node_name().map(|node| &**node),
            zone: self.zone().map(|zone| &**zone),
            target: Some(TargetRef::pod(&self.pod.object)),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn object_at(&self) -> Option<*const ()> {
        T::SHARED.then(|| ptr::from_ref(&*self.pod.object).cast())
    }

    /// Shares the strings of the pod, if they can be shared.
    #[inline]
    fn to_endpoint(&self) -> Endpoint<T> {
        Endpoint {
            addresses: Address::copies(self.addresses()),
            conditions: self.conditions(),
            hostname: self.hostname().cloned(),
            node_name: self.node_name().cloned(),
            zone: self.zone().cloned(),
            target: Some(Target::pod(self.pod.object.clone())),
            hints: None,
            deprecated_topology: None,
        }
    }
}
