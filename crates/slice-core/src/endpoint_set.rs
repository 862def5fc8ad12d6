//! Endpoints by identity.

use std::{
    cmp::Ordering,
    hash::{BuildHasher as _, Hash as _, Hasher as _},
};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::{Address, EndpointRef};

/// What makes an endpoint the same one (R76, G5): its addresses in any order, its hostname, and the namespace and name of
/// what is behind it. Absent and empty are the same here.
#[derive(Clone, Copy, Debug)]
struct Identity<'a> {
    addresses: &'a [Address],
    hostname: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Identity<'a> {
    fn of(endpoint: &EndpointRef<'a>) -> Self {
        let target = endpoint.target.unwrap_or_default();
        Self {
            addresses: endpoint.addresses,
            hostname: endpoint.hostname.unwrap_or_default(),
            namespace: target.namespace.unwrap_or_default(),
            name: target.name.unwrap_or_default(),
        }
    }

    /// Spread by what differs between the endpoints of one owner; the rest is left to the comparison.
    fn hash(&self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        if let [address] = self.addresses {
            address.hash(&mut hasher);
        }
        hasher.write(self.name.as_bytes());
        hasher.finish()
    }

    fn cmp(&self, other: &Identity<'_>) -> Ordering {
        compare_sets(self.addresses, other.addresses)
            .then_with(|| self.hostname.cmp(other.hostname))
            .then_with(|| self.namespace.cmp(other.namespace))
            .then_with(|| self.name.cmp(other.name))
    }

    /// Names differ sooner than namespaces.
    fn eq(&self, other: &Identity<'_>) -> bool {
        self.name == other.name
            && compare_sets(self.addresses, other.addresses).is_eq()
            && self.hostname == other.hostname
            && self.namespace == other.namespace
    }
}

fn compare_sets(a: &[Address], b: &[Address]) -> Ordering {
    if let ([a], [b]) = (a, b) {
        return a.cmp(b);
    }
    let sorted = |addresses: &[Address]| {
        let mut sorted: SmallVec<[Address; 4]> = addresses.iter().cloned().collect();
        sorted.sort_unstable();
        sorted
    };
    sorted(a).cmp(&sorted(b))
}

/// The endpoints that are wanted, each identity once.
///
/// Made anew for every sync, so it costs two allocations in all and none per endpoint.
///
/// ```
/// use slice_core::{Address, Endpoint, EndpointSet};
///
/// let stored = Endpoint { addresses: [Address::stored("10.0.0.1")].into_iter().collect(), ..Endpoint::default() };
/// let mut wanted = EndpointSet::with_capacity(1);
/// wanted.insert(stored.view());
/// assert!(wanted.take(&stored.view()).is_some(), "it is wanted");
/// assert!(wanted.take(&stored.view()).is_none(), "but only once");
/// ```
#[derive(Debug, Default)]
pub struct EndpointSet<'a> {
    slots: Vec<EndpointRef<'a>>,
    /// Places in `slots` of what has not been taken.
    index: HashTable<u32>,
}

impl<'a> EndpointSet<'a> {
    /// An empty set with room for so many.
    #[must_use]
    pub fn with_capacity(endpoints: usize) -> Self {
        Self {
            slots: Vec::with_capacity(endpoints),
            index: HashTable::with_capacity(endpoints),
        }
    }

    /// Adds an endpoint; one with the same identity makes room for it (R78).
    ///
    /// # Panics
    /// At more than 4,294,967,295 endpoints.
    pub fn insert(&mut self, endpoint: EndpointRef<'a>) {
        let identity = Identity::of(&endpoint);
        let slots = &self.slots;
        let entry = self.index.entry(
            identity.hash(),
            |slot| Identity::of(&slots[*slot as usize]).eq(&identity),
            |slot| Identity::of(&slots[*slot as usize]).hash(),
        );
        let slot = u32::try_from(self.slots.len()).expect("a set holds fewer endpoints than there are IPv4 addresses");
        *entry.or_insert(slot).get_mut() = slot;
        self.slots.push(endpoint);
    }

    /// Removes and answers the endpoint with the same identity.
    pub fn take(&mut self, like: &EndpointRef<'_>) -> Option<EndpointRef<'a>> {
        let identity = Identity::of(like);
        let slots = &self.slots;
        let found = self.index.find_entry(identity.hash(), |slot| {
            Identity::of(&slots[*slot as usize]).eq(&identity)
        });
        let (slot, _) = found.ok()?.remove();
        Some(self.slots[slot as usize])
    }

    /// Whether an endpoint with the same identity is left.
    #[must_use]
    pub fn contains(&self, like: &EndpointRef<'_>) -> bool {
        let identity = Identity::of(like);
        let is_same = |slot: &u32| Identity::of(&self.slots[*slot as usize]).eq(&identity);
        self.index.find(identity.hash(), is_same).is_some()
    }

    /// How many are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// What is left, in the order of identities: the same for the same endpoints, in whatever order they came (G32).
    #[must_use]
    pub fn into_sorted(self) -> Vec<EndpointRef<'a>> {
        let mut left: Vec<EndpointRef<'a>> = self.index.iter().map(|slot| self.slots[*slot as usize]).collect();
        left.sort_unstable_by(|a, b| Identity::of(a).cmp(&Identity::of(b)));
        left
    }
}

impl<'a> Extend<EndpointRef<'a>> for EndpointSet<'a> {
    fn extend<I: IntoIterator<Item = EndpointRef<'a>>>(&mut self, endpoints: I) {
        for endpoint in endpoints {
            self.insert(endpoint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conditions, Endpoint, Target};

    fn endpoint(addresses: &[&str], hostname: Option<&str>, target: Option<(&str, &str)>) -> Endpoint {
        Endpoint {
            addresses: addresses.iter().map(|address| Address::stored(address)).collect(),
            hostname: hostname.map(Into::into),
            target: target.map(|(namespace, name)| {
                Box::new(Target {
                    namespace: Some(namespace.into()),
                    name: Some(name.into()),
                    ..Target::default()
                })
            }),
            ..Endpoint::default()
        }
    }

    fn pod(address: &str, name: &str) -> Endpoint {
        endpoint(&[address], None, Some(("ns", name)))
    }

    fn same(a: &Endpoint, b: &Endpoint) -> bool {
        let mut set = EndpointSet::default();
        set.insert(a.view());
        set.take(&b.view()).is_some()
    }

    /// R76, R77: pods that share an address are two endpoints; a pod with the same name and address is the same one.
    #[test]
    fn r76_what_makes_an_endpoint_the_same() {
        let base = pod("10.0.0.1", "a");
        let with = |change: fn(&mut Endpoint)| {
            let mut endpoint = base.clone();
            change(&mut endpoint);
            endpoint
        };
        for (what, other, expected) in [
            ("itself", base.clone(), true),
            ("address", pod("10.0.0.2", "a"), false),
            (
                "another address more",
                endpoint(&["10.0.0.1", "10.0.0.2"], None, Some(("ns", "a"))),
                false,
            ),
            ("hostname", endpoint(&["10.0.0.1"], Some("h"), Some(("ns", "a"))), false),
            (
                "empty hostname",
                endpoint(&["10.0.0.1"], Some(""), Some(("ns", "a"))),
                true,
            ),
            ("name", pod("10.0.0.1", "b"), false),
            ("namespace", endpoint(&["10.0.0.1"], None, Some(("other", "a"))), false),
            ("uid", with(|e| e.target.as_mut().unwrap().uid = Some("u".into())), true),
            ("node", with(|e| e.node_name = Some("n".into())), true),
            ("conditions", with(|e| e.conditions.ready = Some(true)), true),
        ] {
            assert_eq!(same(&base, &other), expected, "{what}");
        }
        let nobody = endpoint(&["10.0.0.1"], None, None);
        assert!(same(&nobody, &endpoint(&["10.0.0.1"], None, Some(("", "")))));
    }

    #[test]
    fn addresses_are_a_set() {
        let forth = endpoint(&["10.0.0.1", "10.0.0.2"], None, None);
        let back = endpoint(&["10.0.0.2", "10.0.0.1"], None, None);
        assert!(same(&forth, &back));
    }

    #[test]
    fn r78_a_second_endpoint_of_the_same_identity_wins() {
        let first = pod("10.0.0.1", "a");
        let mut second = first.clone();
        second.conditions = Conditions {
            ready: Some(false),
            ..Conditions::default()
        };
        let mut set = EndpointSet::default();
        set.extend([first.view(), second.view()]);
        assert_eq!(set.len(), 1);
        assert_eq!(set.into_sorted(), [second.view()]);
    }

    #[test]
    fn an_endpoint_is_taken_once() {
        let endpoints = [pod("10.0.0.1", "a"), pod("10.0.0.1", "b")];
        let mut set = EndpointSet::with_capacity(2);
        set.extend(endpoints.iter().map(Endpoint::view));
        assert_eq!(set.take(&endpoints[0].view()), Some(endpoints[0].view()));
        assert_eq!(set.take(&endpoints[0].view()), None);
        assert_eq!(
            endpoints.each_ref().map(|endpoint| set.contains(&endpoint.view())),
            [false, true]
        );
        assert_eq!((set.len(), set.is_empty()), (1, false));
    }

    #[test]
    fn what_is_left_comes_in_the_same_order_whatever_came_first() {
        let endpoints = [pod("10.0.0.2", "a"), pod("10.0.0.10", "b"), pod("10.0.0.2", "0")];
        let expected = ["0", "a", "b"];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut set = EndpointSet::default();
            set.extend(order.map(|i: usize| endpoints[i].view()));
            let names: Vec<_> = set
                .into_sorted()
                .iter()
                .map(|e| e.target.unwrap().name.unwrap())
                .collect();
            assert_eq!(names, expected);
        }
    }
}
