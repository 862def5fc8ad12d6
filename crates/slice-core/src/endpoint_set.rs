//! Endpoints by identity.

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    EndpointSource,
    identity::{compare, hash_of_addresses, hash_with_name, have_same_addresses, is_same, rank},
};

/// The endpoints that are wanted, each identity once.
///
/// Made anew for every sync, so it costs two allocations in all and none per endpoint.
///
/// ```
/// use slice_core::{Address, Endpoint, EndpointSet};
///
/// let stored = Endpoint { addresses: [Address::stored("10.0.0.1")].into_iter().collect(), ..Endpoint::default() };
/// let mut wanted = EndpointSet::with_capacity(1);
/// wanted.insert(&stored);
/// assert!(wanted.take(&stored.view()).is_some(), "it is wanted");
/// assert!(wanted.take(&stored.view()).is_none(), "but only once");
/// ```
#[derive(Debug)]
pub struct EndpointSet<E> {
    slots: Vec<E>,
    /// Places in `slots` of what has not been taken, by address.
    index: HashTable<u32>,
    /// Places of those whose addresses were in the index already, by address and name: pods on the network of their node.
    crowd: HashTable<u32>,
}

/// Where an endpoint was found in a set, until another one is inserted.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In this bucket of the index.
    Index(usize),
    /// In this bucket of the crowd.
    Crowd(usize),
}

impl<E> Default for EndpointSet<E> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<E> EndpointSet<E> {
    /// An empty set with room for so many.
    #[must_use]
    pub fn with_capacity(endpoints: usize) -> Self {
        Self {
            slots: Vec::with_capacity(endpoints),
            index: HashTable::with_capacity(endpoints),
            crowd: HashTable::new(),
        }
    }

    /// How many are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len() + self.crowd.len()
    }

    /// Whether none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E: EndpointSource> EndpointSet<E> {
    /// Adds an endpoint; one with the same identity makes room for it (R78).
    ///
    /// # Panics
    /// At more than 4,294,967,295 endpoints.
    pub fn insert(&mut self, endpoint: E) {
        let slot = u32::try_from(self.slots.len()).expect("a set holds fewer endpoints than there are IPv4 addresses");
        let at = |slot: &u32| &self.slots[*slot as usize];
        let entry = self.index.entry(
            hash_of_addresses(&endpoint),
            |slot| have_same_addresses(at(slot), &endpoint),
            |slot| hash_of_addresses(at(slot)),
        );
        match entry {
            Entry::Occupied(mut found) if is_same(at(found.get()), &endpoint) => *found.get_mut() = slot,
            Entry::Vacant(room) if self.crowd.is_empty() => {
                room.insert(slot);
            }
            _ => {
                let entry = self.crowd.entry(
                    hash_with_name(&endpoint),
                    |slot| is_same(at(slot), &endpoint),
                    |slot| hash_with_name(at(slot)),
                );
                *entry.or_insert(slot).get_mut() = slot;
            }
        }
        self.slots.push(endpoint);
    }

    /// Where the endpoint with the same identity is, if it is left.
    #[must_use]
    pub fn find(&self, like: &impl EndpointSource) -> Option<Place> {
        let is_like = |slot: &u32| is_same(&self.slots[*slot as usize], like);
        let found = self.index.find_bucket_index(hash_of_addresses(like), is_like);
        if found.is_some() || self.crowd.is_empty() {
            return found.map(Place::Index);
        }
        let found = self.crowd.find_bucket_index(hash_with_name(like), is_like);
        found.map(Place::Crowd)
    }

    /// Whether an endpoint with the same identity is left.
    #[must_use]
    pub fn contains(&self, like: &impl EndpointSource) -> bool {
        self.find(like).is_some()
    }

    /// Removes and answers what was found at a place, if it is left.
    pub fn take_from(&mut self, place: Place) -> Option<E> {
        let found = match place {
            Place::Index(bucket) => self.index.get_bucket_entry(bucket),
            Place::Crowd(bucket) => self.crowd.get_bucket_entry(bucket),
        };
        let (slot, _) = found.ok()?.remove();
        Some(self.slots[slot as usize])
    }

    /// Removes and answers the endpoint with the same identity. To take many, find them all first: memory answers
    /// several questions sooner at once than one after the other.
    pub fn take(&mut self, like: &impl EndpointSource) -> Option<E> {
        self.find(like).and_then(|place| self.take_from(place))
    }

    /// What is left, in the order of identities: the same for the same endpoints, in whatever order they came (G32).
    #[must_use]
    pub fn into_sorted(self) -> Vec<E> {
        let left = self.index.iter().chain(&self.crowd);
        let left = left.map(|slot| self.slots[*slot as usize]);
        let mut ranked: Vec<_> = left.map(|endpoint| (rank(&endpoint), endpoint)).collect();
        ranked.sort_unstable_by(|(a, first), (b, second)| a.cmp(b).then_with(|| compare(first, second)));
        ranked.into_iter().map(|(_, endpoint)| endpoint).collect()
    }
}

impl<E: EndpointSource> Extend<E> for EndpointSet<E> {
    fn extend<I: IntoIterator<Item = E>>(&mut self, endpoints: I) {
        for endpoint in endpoints {
            self.insert(endpoint);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Address, Conditions, Endpoint, Target};

    fn endpoint(addresses: &[&str], hostname: Option<&str>, target: Option<(&str, &str)>) -> Endpoint {
        Endpoint {
            addresses: addresses.iter().map(|address| Address::stored(address)).collect(),
            hostname: hostname.map(Into::into),
            target: target.map(|(namespace, name)| Target {
                namespace: Some(namespace.into()),
                name: Some(name.into()),
                ..Target::default()
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
            endpoints.each_ref().map(|endpoint| set.contains(&endpoint)),
            [false, true]
        );
        assert_eq!((set.len(), set.is_empty()), (1, false));
    }

    /// R77: pods on the network of their node share its address. Whatever was taken before, a set answers as a map would.
    #[test]
    fn r77_endpoints_that_share_an_address_are_told_apart() {
        let endpoints: Vec<Endpoint> = (0..12)
            .map(|n| pod(["10.0.0.1", "10.0.0.2"][n % 2], &(n / 4).to_string()))
            .collect();
        let identity = |endpoint: &Endpoint| format!("{:?}", (&endpoint.addresses, &endpoint.target));
        let mut state = 1_usize;
        let mut draw = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut set, mut map) = (EndpointSet::default(), BTreeMap::new());
        for _ in 0..10_000 {
            let endpoint = &endpoints[draw(endpoints.len())];
            if draw(2) == 0 {
                set.insert(endpoint);
                map.insert(identity(endpoint), endpoint);
            } else {
                let (taken, expected) = (set.take(&endpoint), map.remove(&identity(endpoint)));
                assert!(
                    taken.is_some() == expected.is_some()
                        && taken.zip(expected).is_none_or(|(a, b)| std::ptr::eq(a, b))
                );
            }
            assert_eq!(set.len(), map.len());
        }
        let left: Vec<String> = set.into_sorted().into_iter().map(identity).collect();
        assert_eq!(left, map.into_keys().collect::<Vec<_>>());
    }

    #[test]
    fn what_was_found_is_taken_once() {
        let endpoints = [pod("10.0.0.1", "a"), pod("10.0.0.1", "b")];
        let mut set = EndpointSet::default();
        set.extend(&endpoints);
        for endpoint in &endpoints {
            let place = set.find(&endpoint).unwrap();
            assert_eq!(set.take_from(place), Some(endpoint));
            assert_eq!(set.take_from(place), None);
        }
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
