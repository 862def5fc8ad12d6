//! Endpoints by identity.

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    EndpointSource,
    endpoint::touch,
    identity::{AddressTag, compare, hash_with_name, have_same_addresses, have_same_names, is_same, rank},
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
    /// In which buckets of the index the endpoints that are just being looked for may be.
    found: Vec<Option<usize>>,
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
        self.get(like).is_some()
    }

    /// The endpoint with the same identity, if it is left.
    #[must_use]
    pub fn get(&self, like: &impl EndpointSource) -> Option<E> {
        let is_like = |slot: u32| is_same(&self.slots[slot as usize], like);
        let tag = AddressTag::of(like);
        let indexed = self
            .index
            .find(tag.hash(), |other| other.tag == tag && is_like(other.slot));
        let slot = match indexed {
            Some(indexed) => indexed.slot,
            None if self.crowd.is_empty() => return None,
            None => *self.crowd.find(hash_with_name(like), |slot| is_like(*slot))?,
        };
        Some(self.slots[slot as usize])
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
            self.index.find_bucket_index(tag.hash(), |other| other.tag == tag)
        }));
        taken.clear();
        let in_bucket = |bucket: usize| Some(self.slots[self.index.get_bucket(bucket)?.slot as usize]);
        taken.extend(self.found.iter().map(|bucket| bucket.and_then(in_bucket)));
        touch(taken.iter().flatten().copied());
        for (like, taken) in like.clone().zip(&mut *taken) {
            let same_addresses = AddressTag::of(&like).is_exact();
            *taken = taken.filter(|candidate| {
                (same_addresses || have_same_addresses(candidate, &like)) && have_same_names(candidate, &like)
            });
        }
        for (place, (like, taken)) in like.zip(taken).enumerate() {
            let bucket = self.found[place].filter(|_| taken.is_some());
            match bucket.and_then(|bucket| self.index.get_bucket_entry(bucket).ok()) {
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
mod tests;
