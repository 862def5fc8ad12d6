//! One endpoint of a slice: owned and compact, or borrowed from whatever it is derived from.

use std::{collections::BTreeMap, ptr, sync::Arc};

use crate::{Address, Addresses, Hints, Target, TargetRef, Text, identity::is_same};

/// What an endpoint says about itself. Absent is not false (R79).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// Whether it takes new connections.
    pub ready: Option<bool>,
    /// Whether it answers, also while it is terminating.
    pub serving: Option<bool>,
    /// Whether it is going away.
    pub terminating: Option<bool>,
}

/// An endpoint as it is kept in a slice, in strings of the caller's choice: `Endpoint` shares them with others, `Endpoint<&str>`
/// borrows them from an object of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint<T: Text = Arc<str>> {
    /// Where it is.
    pub addresses: Addresses,
    /// How it is.
    pub conditions: Conditions,
    /// The name by which it is found in DNS.
    pub hostname: Option<T>,
    /// The node it runs on.
    pub node_name: Option<T>,
    /// The zone it is in.
    pub zone: Option<T>,
    /// What is behind it.
    pub target: Option<Target<T>>,
    /// For whom it is meant.
    pub hints: Option<Hints<T>>,
    /// What only old API versions could write; kept, never compared (R67).
    pub deprecated_topology: Option<Box<BTreeMap<String, String>>>,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            addresses: Addresses::new(),
            conditions: Conditions::default(),
            hostname: None,
            node_name: None,
            zone: None,
            target: None,
            hints: None,
            deprecated_topology: None,
        }
    }
}

impl<T: Text> Endpoint<T> {
    /// The endpoint without hints, borrowed.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    pub fn view(&self) -> EndpointRef<'_> {
        EndpointRef {
            addresses: &self.addresses,
            conditions: self.conditions,
            hostname: self.hostname.as_deref(),
            node_name: self.node_name.as_deref(),
            zone: self.zone.as_deref(),
            target: self.target.as_ref().map(Target::view),
        }
    }

    /// The same endpoint in other strings.
    pub fn map<'a, U: Text>(&'a self, mut to: impl FnMut(&'a T) -> U) -> Endpoint<U> {
        let mut text = |text: &'a Option<T>| text.as_ref().map(&mut to);
        Endpoint {
            addresses: Address::copies(&self.addresses),
            conditions: self.conditions,
            hostname: text(&self.hostname),
            node_name: text(&self.node_name),
            zone: text(&self.zone),
            target: self.target.as_ref().map(|target| target.map(&mut to)),
            hints: self.hints.as_ref().map(|hints| hints.map(&mut to)),
            deprecated_topology: self.deprecated_topology.clone(),
        }
    }

    /// The same endpoint without what is given anew when it is written: hints, and what only old API versions could write.
    #[inline]
    pub(crate) fn without_hints(&self) -> Self {
        Self {
            addresses: Address::copies(&self.addresses),
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

/// An endpoint without hints, borrowed from wherever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointRef<'a> {
    /// Where it is.
    pub addresses: &'a [Address],
    /// How it is.
    pub conditions: Conditions,
    /// The name by which it is found in DNS.
    pub hostname: Option<&'a str>,
    /// The node it runs on.
    pub node_name: Option<&'a str>,
    /// The zone it is in.
    pub zone: Option<&'a str>,
    /// What is behind it.
    pub target: Option<TargetRef<'a>>,
}

impl<'a> EndpointRef<'a> {
    /// An endpoint to keep, its strings made by `share`, which can make one of equal ones.
    pub fn to_endpoint_with<T: Text>(&self, mut share: impl FnMut(&'a str) -> T) -> Endpoint<T> {
        let mut text = |text: Option<&'a str>| text.map(&mut share);
        Endpoint {
            addresses: Address::copies(self.addresses),
            conditions: self.conditions,
            hostname: text(self.hostname),
            node_name: text(self.node_name),
            zone: text(self.zone),
            target: self.target.map(|target| target.to_target(&mut share)),
            hints: None,
            deprecated_topology: None,
        }
    }
}

/// Whether two endpoints agree in a text. Strings that are shared are equal without a look at them.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
pub(crate) fn agree<A: EndpointSource, B: EndpointSource>(
    a: &A,
    b: &B,
    text: impl for<'a> Fn(&EndpointRef<'a>) -> Option<&'a str>,
) -> bool {
    match (text(&a.view()), text(&b.view())) {
        (Some(a), Some(b)) => ptr::eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    }
}

/// Whether the names of what is behind two endpoints are one and the same, and so equal without a look at them.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
pub(crate) fn are_of_one_object(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    a.object_at().is_some_and(|object| b.object_at() == Some(object))
}

/// Whether two endpoints both have a text or both lack it: all that is left to compare of what is part of their identity, where
/// absent is the same as empty.
#[inline(always)]
#[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
fn agree_in_presence<A: EndpointSource, B: EndpointSource>(
    a: &A,
    b: &B,
    text: impl for<'a> Fn(&EndpointRef<'a>) -> Option<&'a str>,
) -> bool {
    text(&a.view()).is_some() == text(&b.view()).is_some()
}

/// Whatever an endpoint can be read off. What is wanted is derived anew on every sync, so that it is best left where it is
/// until it is compared or written.
pub trait EndpointSource: Copy {
    /// The strings of the endpoints that it becomes, and of the slices that these come into.
    type Text: Text;

    /// The endpoint, without hints.
    fn view(&self) -> EndpointRef<'_>;

    /// Where the names of what is behind it are, if others may hold them at the same place. Those who answer the same place have
    /// targets of the same namespace, name and uid, which are not compared then; so a target that is changed on the way has none.
    fn object_at(&self) -> Option<*const ()> {
        None
    }

    /// Whether two endpoints are the same one, whatever else they say (R76, G5).
    fn is_same_as(&self, other: &impl EndpointSource) -> bool {
        is_same(self, other)
    }

    /// Whether two endpoints with the same identity also say the same (R79, M64): node, zone, conditions, and the target
    /// but for its version.
    fn equals_beyond_identity(&self, other: &impl EndpointSource) -> bool {
        agree(self, other, |endpoint| endpoint.target?.name)
            && agree(self, other, |endpoint| endpoint.target?.namespace)
            && self.equals_if_same(other)
    }

    /// The same of two that are known to be the same one: their names are not compared again.
    fn equals_if_same(&self, other: &impl EndpointSource) -> bool {
        self.view().conditions == other.view().conditions
            && agree(self, other, |endpoint| endpoint.node_name)
            && agree(self, other, |endpoint| endpoint.zone)
            && self.view().target.is_some() == other.view().target.is_some()
            && (are_of_one_object(self, other)
                || agree(self, other, |endpoint| endpoint.target?.uid)
                    && agree_in_presence(self, other, |endpoint| endpoint.target?.name)
                    && agree_in_presence(self, other, |endpoint| endpoint.target?.namespace))
            && agree(self, other, |endpoint| endpoint.target?.kind)
            && agree(self, other, |endpoint| endpoint.target?.api_version)
            && agree(self, other, |endpoint| endpoint.target?.field_path)
    }

    /// An endpoint to keep.
    fn to_endpoint(&self) -> Endpoint<Self::Text>;
}

impl EndpointSource for EndpointRef<'_> {
    type Text = Arc<str>;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn view(&self) -> EndpointRef<'_> {
        *self
    }

    fn to_endpoint(&self) -> Endpoint {
        self.to_endpoint_with(Arc::from)
    }
}

impl<T: Text> EndpointSource for &Endpoint<T> {
    type Text = T;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn view(&self) -> EndpointRef<'_> {
        Endpoint::view(self)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn object_at(&self) -> Option<*const ()> {
        let target = self.target.as_ref().filter(|_| T::SHARED);
        target.map(|target| ptr::from_ref(&**target.object()).cast())
    }

    #[inline]
    fn to_endpoint(&self) -> Endpoint<T> {
        self.without_hints()
    }
}

#[cfg(test)]
mod tests;
