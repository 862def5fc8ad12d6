//! A pod as an endpoint.

use std::{num::NonZeroU16, slice, sync::Arc};

use slice_core::{Address, AddressType, Conditions, Endpoint, EndpointRef, EndpointSource, Target, Text};

use crate::{Node, Pod};

/// A pod as an endpoint of a Service: what the pod does not say by itself, and the pod. Small, because there is one for
/// every pod on every sync.
#[derive(Debug)]
pub struct PodEndpoint<'a, T = Arc<str>> {
    /// The pod.
    pub pod: &'a Pod<T>,
    /// The node it runs on, if it is known.
    pub node: Option<&'a Node<T>>,
    /// How the Service presents it.
    pub conditions: Conditions,
    /// The family of its addresses.
    pub(crate) address_type: AddressType,
    /// Which one of them is meant, counted from one, where each is an endpoint of its own.
    pub(crate) only: Option<NonZeroU16>,
    /// Whether its hostname is published.
    pub(crate) has_hostname: bool,
}

impl<T> Clone for PodEndpoint<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PodEndpoint<'_, T> {}

impl<T> PodEndpoint<'_, T> {
    /// The endpoints that the pod is with its addresses of the family: usually one, none without an address (R55 step 2d,
    /// R60).
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        let addresses = self.pod.addresses.of(self.address_type).len();
        let apart = self.pod.addresses.are_apart();
        let count = if apart { addresses } else { addresses.min(1) };
        let numbers = (1..=u16::MAX).map(NonZeroU16::new).take(count);
        numbers.map(move |number| Self {
            only: number.filter(|_| apart),
            ..self
        })
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn addresses(&self) -> &[Address] {
        let all = self.pod.addresses.of(self.address_type);
        match self.only {
            None => all,
            // Never beyond the end; and what could panic would be looked at even where nobody asks for addresses.
            Some(number) => all.get(usize::from(number.get()) - 1).map_or(&[], slice::from_ref),
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
        if self.has_hostname {
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
            conditions: self.conditions,
            hostname: self.hostname().map(|hostname| &**hostname),
            node_name: self.node_name().map(|node| &**node),
            zone: self.zone().map(|zone| &**zone),
            target: Some(Target {
                kind: Some(Text::pod()),
                namespace: given(&self.pod.namespace).map(|namespace| &**namespace),
                name: given(&self.pod.name).map(|name| &**name),
                uid: self.pod.uid.as_deref(),
                ..Target::default()
            }),
        }
    }

    /// Shares the strings of the pod, if they can be shared.
    #[inline]
    fn to_endpoint(&self) -> Endpoint<T> {
        Endpoint {
            addresses: Address::copies(self.addresses()),
            conditions: self.conditions,
            hostname: self.hostname().cloned(),
            node_name: self.node_name().cloned(),
            zone: self.zone().cloned(),
            target: Some(Target {
                kind: Some(T::pod()),
                namespace: given(&self.pod.namespace).cloned(),
                name: given(&self.pod.name).cloned(),
                uid: self.pod.uid.clone(),
                ..Target::default()
            }),
            hints: None,
            deprecated_topology: None,
        }
    }
}

/// In a slice, an empty text is left out.
#[inline]
fn given<T: Text>(text: &T) -> Option<&T> {
    (!text.is_empty()).then_some(text)
}
