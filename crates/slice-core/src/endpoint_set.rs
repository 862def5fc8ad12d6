//! Endpoints by identity.

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    EndpointSource,
    identity::{AddressKey, compare, hash_with_name, have_same_addresses, is_same, rank},
};

/// The endpoints that are wanted, each identity once.
///
/// Made anew for every sync, so it costs a few allocations in all and none per endpoint.
///
/// ```
/// use slice_core::{Address, Endpoint, EndpointSet};
///
/// let stored = Endpoint { addresses: [Address::from_canonical("10.0.0.1")].into_iter().collect(), ..Endpoint::default() };
/// let mut wanted = EndpointSet::with_capacity(1);
/// wanted.insert(&stored);
/// assert!(wanted.take(&stored).is_some(), "it is wanted");
/// assert!(wanted.take(&stored).is_none(), "but only once");
/// ```
#[derive(Debug)]
pub struct EndpointSet<E> {
    /// What has not been taken, by address.
    index: HashTable<Indexed<E>>,
    /// Those whose addresses were in the index already, by address and name: pods on the network of their node.
    crowd: HashTable<E>,
}

/// An endpoint and its addresses, which can be told without a look at it.
#[derive(Debug)]
struct Indexed<E> {
    key: AddressKey,
    endpoint: E,
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
    pub fn insert(&mut self, endpoint: E) {
        let key = AddressKey::of(&endpoint);
        let entry = self.index.entry(
            key.hash(),
            |other| other.key == key && (key.is_exact() || have_same_addresses(&other.endpoint, &endpoint)),
            |other| other.key.hash(),
        );
        match entry {
            Entry::Occupied(mut found) if is_same(&found.get().endpoint, &endpoint) => {
                found.get_mut().endpoint = endpoint;
            }
            Entry::Vacant(room) if self.crowd.is_empty() => {
                room.insert(Indexed { key, endpoint });
            }
            _ => {
                let entry = self.crowd.entry(
                    hash_with_name(&endpoint),
                    |other| is_same(other, &endpoint),
                    hash_with_name,
                );
                entry.insert(endpoint);
            }
        }
    }

    /// Whether an endpoint with the same identity is left.
    #[must_use]
    pub fn contains(&self, like: &impl EndpointSource) -> bool {
        self.get(like).is_some()
    }

    /// The endpoint with the same identity, if it is left.
    #[must_use]
    pub fn get(&self, like: &impl EndpointSource) -> Option<E> {
        let key = AddressKey::of(like);
        let indexed = self
            .index
            .find(key.hash(), |other| other.key == key && is_same(&other.endpoint, like));
        match indexed {
            Some(indexed) => Some(indexed.endpoint.clone()),
            None if self.crowd.is_empty() => None,
            None => self
                .crowd
                .find(hash_with_name(like), |other| is_same(other, like))
                .cloned(),
        }
    }

    /// Removes and answers the endpoint with the same identity.
    pub fn remove(&mut self, like: &impl EndpointSource) -> Option<E> {
        let key = AddressKey::of(like);
        let indexed = self
            .index
            .find_entry(key.hash(), |other| other.key == key && is_same(&other.endpoint, like));
        if let Ok(found) = indexed {
            return Some(found.remove().0.endpoint);
        }
        if self.crowd.is_empty() {
            return None;
        }
        let crowded = self
            .crowd
            .find_entry(hash_with_name(like), |other| is_same(other, like));
        crowded.ok().map(|found| found.remove().0)
    }

    /// What is left, in the order of identities: the same for the same endpoints, in whatever order they came (G32).
    #[must_use]
    pub fn into_sorted(self) -> Vec<E> {
        // Single IPv4 addresses sort by the key in the table: reading every endpoint would cost a cache miss each.
        if self.crowd.is_empty() && self.index.iter().all(|indexed| indexed.key.is_exact()) {
            let mut sorted: Vec<_> = self.index.into_iter().collect();
            sorted.sort_unstable_by_key(|indexed| indexed.key);
            return sorted.into_iter().map(|indexed| indexed.endpoint).collect();
        }
        let indexed = self.index.into_iter().map(|indexed| indexed.endpoint);
        let left = indexed.chain(self.crowd);
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
mod tests;
