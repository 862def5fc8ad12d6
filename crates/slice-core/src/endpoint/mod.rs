//! Endpoints of slices: the compact form, and a trait for objects that can be read as an endpoint.

use std::{collections::BTreeMap, ptr, sync::Arc};

use serde::Serialize;

use crate::{Address, Addresses, Hints, Target, TargetView, identity::same_identity};

/// The conditions of an endpoint. An absent condition differs from a false one (R79).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Conditions {
    /// Whether it accepts new connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Whether it serves requests, even while terminating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<bool>,
    /// Whether it is terminating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<bool>,
}

/// The compact form of an endpoint. Serializes as the API object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The addresses; consumers use the first one.
    pub addresses: Addresses,
    /// The conditions.
    pub conditions: Conditions,
    /// The DNS hostname.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Arc<str>>,
    /// The node it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Arc<str>>,
    /// The zone it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Arc<str>>,
    /// The object behind the endpoint.
    #[serde(rename = "targetRef", skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The topology hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Arc<Hints>>,
    /// A field that only old API versions could write: preserved, never compared (R67).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated_topology: Option<Box<BTreeMap<String, String>>>,
}

// A cluster may have many endpoints: their size bounds the memory of the slice cache.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Endpoint>() <= 120);

/// An object that can be read as an endpoint. Desired endpoints borrow from the objects they are derived from and are copied
/// only when a slice is written, so implement it for types that are cheap to clone, such as references.
pub trait EndpointSource: Clone {
    /// The addresses.
    fn addresses(&self) -> &[Address];

    /// The conditions.
    fn conditions(&self) -> Conditions;

    /// The DNS hostname.
    fn hostname(&self) -> Option<&str>;

    /// The node it runs on.
    fn node_name(&self) -> Option<&str>;

    /// The zone it is in.
    fn zone(&self) -> Option<&str>;

    /// The object behind the endpoint.
    fn target(&self) -> Option<TargetView<'_>>;

    /// The compact form, without hints.
    fn to_endpoint(&self) -> Endpoint;

    /// Whether both have the same identity: addresses, hostname, namespace and name of the target (R76, G5).
    fn same_identity(&self, other: &impl EndpointSource) -> bool {
        same_identity(self, other)
    }

    /// Whether two endpoints of the same identity have equal attributes: node, zone, conditions, and the target except for
    /// its resourceVersion (R79, M64).
    fn equals_beyond_identity(&self, other: &impl EndpointSource) -> bool {
        let targets_equal = match (self.target(), other.target()) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                (a.same_identity_ptr(b)
                    || same_field(a.uid(), b.uid())
                        && same_field(a.name(), b.name())
                        && same_field(a.namespace(), b.namespace()))
                    && same_field(a.kind(), b.kind())
                    && same_field(a.api_version(), b.api_version())
                    && same_field(a.field_path(), b.field_path())
            }
            _ => false,
        };
        targets_equal
            && self.conditions() == other.conditions()
            && same_field(self.node_name(), other.node_name())
            && same_field(self.zone(), other.zone())
    }
}

/// Whether two strings are equal, by pointer first: equal interned strings are one allocation.
#[inline]
pub(crate) fn same_str(a: &str, b: &str) -> bool {
    ptr::eq(a, b) || a == b
}

/// Whether two optional strings are equal.
#[inline]
fn same_field(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_str(a, b),
        (None, None) => true,
        _ => false,
    }
}

impl EndpointSource for Endpoint {
    #[inline]
    fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    #[inline]
    fn conditions(&self) -> Conditions {
        self.conditions
    }

    #[inline]
    fn hostname(&self) -> Option<&str> {
        self.hostname.as_deref()
    }

    #[inline]
    fn node_name(&self) -> Option<&str> {
        self.node_name.as_deref()
    }

    #[inline]
    fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    #[inline]
    fn target(&self) -> Option<TargetView<'_>> {
        self.target.as_ref().map(Target::view)
    }

    #[inline]
    fn to_endpoint(&self) -> Endpoint {
        Endpoint {
            addresses: self.addresses.clone(),
            conditions: self.conditions,
            hostname: self.hostname.clone(),
            node_name: self.node_name.clone(),
            zone: self.zone.clone(),
            target: self.target.clone(),
            hints: None,
            deprecated_topology: None,
        }
    }
}

impl<S: EndpointSource> EndpointSource for &S {
    fn addresses(&self) -> &[Address] {
        S::addresses(self)
    }

    fn conditions(&self) -> Conditions {
        S::conditions(self)
    }

    fn hostname(&self) -> Option<&str> {
        S::hostname(self)
    }

    fn node_name(&self) -> Option<&str> {
        S::node_name(self)
    }

    fn zone(&self) -> Option<&str> {
        S::zone(self)
    }

    fn target(&self) -> Option<TargetView<'_>> {
        S::target(self)
    }

    fn to_endpoint(&self) -> Endpoint {
        S::to_endpoint(self)
    }
}

#[cfg(test)]
mod tests;
