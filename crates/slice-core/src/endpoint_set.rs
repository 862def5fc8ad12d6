//! Endpoints by identity.

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    EndpointSource,
    identity::{AddressTag, compare, hash_with_name, have_same_addresses, is_same, rank},
};

/// The endpoints that are wanted, each identity once.
///
/// Made anew for every sync, so it costs a few allocations in all and none per endpoint.
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
    /// What has not been taken, by address.
    index: HashTable<Indexed>,
    /// Places in `slots` of those whose addresses were in the index already, by address and name: pods on the network of their
    /// node.
    crowd: HashTable<u32>,
    /// Where the endpoints that are just being looked for may be.
    found: Vec<Option<(usize, u32)>>,
}

/// An endpoint by its addresses, without a look at it.
#[derive(Clone, Copy, Debug)]
struct Indexed {
    tag: AddressTag,
    slot: u32,
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
            found: Vec::new(),
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
        let at = |slot: u32| &self.slots[slot as usize];
        let tag = AddressTag::of(&endpoint);
        let entry = self.index.entry(
            tag.hash(),
            |other| other.tag == tag && (tag.is_exact() || have_same_addresses(at(other.slot), &endpoint)),
            |other| other.tag.hash(),
        );
        match entry {
            Entry::Occupied(mut found) if is_same(at(found.get().slot), &endpoint) => found.get_mut().slot = slot,
            Entry::Vacant(room) if self.crowd.is_empty() => {
                room.insert(Indexed { tag, slot });
            }
            _ => {
                let entry = self.crowd.entry(
                    hash_with_name(&endpoint),
                    |slot| is_same(at(*slot), &endpoint),
                    |slot| hash_with_name(at(*slot)),
                );
                *entry.or_insert(slot).get_mut() = slot;
            }
        }
        self.slots.push(endpoint);
    }

    /// Whether an endpoint with the same identity is left.
    #[must_use]
    pub fn contains(&self, like: &impl EndpointSource) -> bool {
        let is_like = |slot: u32| is_same(&self.slots[slot as usize], like);
        let tag = AddressTag::of(like);
        let indexed = self
            .index
            .find(tag.hash(), |other| other.tag == tag && is_like(other.slot));
        indexed.is_some()
            || !self.crowd.is_empty() && self.crowd.find(hash_with_name(like), |slot| is_like(*slot)).is_some()
    }

    /// Removes and answers the endpoint with the same identity.
    pub fn take(&mut self, like: &impl EndpointSource) -> Option<E> {
        let is_like = |slot: u32| is_same(&self.slots[slot as usize], like);
        let tag = AddressTag::of(like);
        let indexed = self
            .index
            .find_entry(tag.hash(), |other| other.tag == tag && is_like(other.slot));
        if let Ok(found) = indexed {
            return Some(self.slots[found.remove().0.slot as usize]);
        }
        if self.crowd.is_empty() {
            return None;
        }
        let crowded = self.crowd.find_entry(hash_with_name(like), |slot| is_like(*slot));
        crowded.ok().map(|found| self.slots[found.remove().0 as usize])
    }

    /// Removes the endpoints with the same identities as these, and puts what was there into `taken`, in their order.
    ///
    /// In a large set, what is looked for is in no cache. So each step on the way to it is made for all before the next one:
    /// memory answers many questions at once about as fast as a single one.
    pub fn take_all<L: EndpointSource>(&mut self, like: impl Iterator<Item = L> + Clone, taken: &mut Vec<Option<E>>) {
        self.found.clear();
        self.found.extend(like.clone().map(|like| {
            let tag = AddressTag::of(&like);
            let bucket = self.index.find_bucket_index(tag.hash(), |other| other.tag == tag)?;
            Some((bucket, self.index.get_bucket(bucket)?.slot))
        }));
        taken.clear();
        let slot = |found: &Option<(usize, u32)>| found.map(|(_, slot)| self.slots[slot as usize]);
        taken.extend(self.found.iter().map(slot));
        for (like, taken) in like.clone().zip(&mut *taken) {
            *taken = taken.filter(|candidate| is_same(candidate, &like));
        }
        for (place, (like, taken)) in like.zip(taken).enumerate() {
            let candidate = self.found[place].filter(|_| taken.is_some());
            let entry = candidate.and_then(|(bucket, slot)| {
                let entry = self.index.get_bucket_entry(bucket).ok()?;
                (entry.get().slot == slot).then_some(entry)
            });
            match entry {
                Some(entry) => drop(entry.remove()),
                // Nowhere, or taken before, or one of several with these addresses.
                None => *taken = self.take(&like),
            }
        }
    }

    /// What is left, in the order of identities: the same for the same endpoints, in whatever order they came (G32).
    #[must_use]
    pub fn into_sorted(self) -> Vec<E> {
        if self.crowd.is_empty()
            && let Some(slots) = self.sorted_by_tag()
        {
            return slots.into_iter().map(|slot| self.slots[slot]).collect();
        }
        let left = self
            .index
            .iter()
            .map(|indexed| indexed.slot)
            .chain(self.crowd.iter().copied());
        let left = left.map(|slot| self.slots[slot as usize]);
        let mut ranked: Vec<_> = left.map(|endpoint| (rank(&endpoint), endpoint)).collect();
        ranked.sort_unstable_by(|(a, first), (b, second)| a.cmp(b).then_with(|| compare(first, second)));
        ranked.into_iter().map(|(_, endpoint)| endpoint).collect()
    }

    /// The places of what is in the index, in the order of the addresses, where these are all single IPv4 addresses: then no
    /// endpoint has to be looked at.
    fn sorted_by_tag(&self) -> Option<Vec<usize>> {
        let mut sorted = Vec::with_capacity(self.index.len());
        for indexed in &self.index {
            sorted.push((indexed.tag.exactly()?, indexed.slot));
        }
        sorted.sort_unstable();
        Some(sorted.into_iter().map(|(_, slot)| slot as usize).collect())
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

    /// Whoever shares an address, is asked for twice, or is not there.
    #[test]
    fn all_at_once_is_the_same_as_one_after_the_other() {
        let two = endpoint(&["10.0.0.3", "fd00::3"], None, Some(("ns", "c")));
        let endpoints = [pod("10.0.0.1", "a"), pod("10.0.0.1", "b"), pod("fd00::2", "c"), two];
        let strangers = [pod("10.0.0.9", "a"), pod("10.0.0.1", "c"), pod("fd00::2", "d")];
        let full = || {
            let mut set = EndpointSet::default();
            set.extend(&endpoints);
            set
        };
        let asked = strangers
            .iter()
            .chain(&endpoints)
            .chain(&endpoints[1..3])
            .chain(&strangers);
        let (mut set, mut taken) = (full(), Vec::new());
        set.take_all(asked.clone(), &mut taken);
        let mut other = full();
        assert_eq!(taken, asked.map(|like| other.take(&like)).collect::<Vec<_>>());
        assert_eq!(taken.iter().flatten().count(), endpoints.len());
        assert!(set.is_empty() && other.is_empty());
    }

    #[test]
    fn what_is_left_comes_in_the_same_order_whatever_came_first() {
        let (a, b, c) = (pod("10.0.0.2", "a"), pod("10.0.0.10", "b"), pod("200.0.0.1", "c"));
        for (endpoints, expected) in [
            ([c.clone(), a.clone(), b.clone()], ["a", "b", "c"]),
            ([a.clone(), b.clone(), pod("10.0.0.2", "0")], ["0", "a", "b"]),
            ([pod("fd00::1", "d"), a, b], ["a", "b", "d"]),
        ] {
            for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
                let mut set = EndpointSet::default();
                set.extend(order.map(|i: usize| endpoints[i].view()));
                let left = set.into_sorted();
                let names = left.iter().map(|e| e.target.unwrap().name.unwrap());
                assert_eq!(names.collect::<Vec<_>>(), expected);
            }
        }
    }
}
