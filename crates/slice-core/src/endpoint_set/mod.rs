//! Sets of endpoints by identity.

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    EndpointSource,
    identity::{AddressKey, compare, hash_with_name, same_addresses, same_identity, sort_key},
};

/// A set of endpoints, each identity once, used for the desired endpoints that are in no slice.
///
/// Built for each sync, with a few allocations in all, none per endpoint.
///
/// ```
/// use slice_core::{Address, Endpoint, EndpointSet};
///
/// let existing = Endpoint { addresses: [Address::from_canonical("10.0.0.1")].into_iter().collect(), ..Endpoint::default() };
/// let mut desired = EndpointSet::with_capacity(1);
/// desired.insert(&existing);
/// assert!(desired.remove(&existing).is_some(), "the endpoint is desired");
/// assert!(desired.remove(&existing).is_none(), "but only once");
/// ```
#[derive(Debug)]
pub struct EndpointSet<E> {
    /// One endpoint per address set.
    by_address: HashTable<Bucket<E>>,
    /// Endpoints whose addresses `by_address` has already, by address and name: pods on the host network.
    same_address: HashTable<E>,
}

/// An endpoint, and the hash key of its addresses so that most lookups do not read the endpoint.
#[derive(Debug)]
struct Bucket<E> {
    key: AddressKey,
    endpoint: E,
}

impl<E> Default for EndpointSet<E> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<E> EndpointSet<E> {
    /// An empty set with capacity for this number of endpoints.
    #[must_use]
    pub fn with_capacity(endpoints: usize) -> Self {
        Self {
            by_address: HashTable::with_capacity(endpoints),
            same_address: HashTable::new(),
        }
    }

    /// The number of endpoints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_address.len() + self.same_address.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E: EndpointSource> EndpointSet<E> {
    /// Adds an endpoint, or replaces the one with the same identity (R78).
    pub fn insert(&mut self, endpoint: E) {
        let key = AddressKey::of(&endpoint);
        let entry = self.by_address.entry(
            key.hash(),
            |other| other.key == key && (key.is_ipv4() || same_addresses(&other.endpoint, &endpoint)),
            |other| other.key.hash(),
        );
        match entry {
            Entry::Occupied(mut found) if same_identity(&found.get().endpoint, &endpoint) => {
                found.get_mut().endpoint = endpoint;
            }
            Entry::Vacant(vacant) if self.same_address.is_empty() => {
                vacant.insert(Bucket { key, endpoint });
            }
            _ => {
                let entry = self.same_address.entry(
                    hash_with_name(&endpoint),
                    |other| same_identity(other, &endpoint),
                    hash_with_name,
                );
                entry.insert(endpoint);
            }
        }
    }

    /// Whether the set has an endpoint with the same identity.
    #[must_use]
    pub fn contains(&self, endpoint: &impl EndpointSource) -> bool {
        self.get(endpoint).is_some()
    }

    /// The endpoint with the same identity.
    #[must_use]
    pub fn get(&self, endpoint: &impl EndpointSource) -> Option<E> {
        let key = AddressKey::of(endpoint);
        let bucket = self.by_address.find(key.hash(), |other| {
            other.key == key && same_identity(&other.endpoint, endpoint)
        });
        match bucket {
            Some(bucket) => Some(bucket.endpoint.clone()),
            None if self.same_address.is_empty() => None,
            None => self
                .same_address
                .find(hash_with_name(endpoint), |other| same_identity(other, endpoint))
                .cloned(),
        }
    }

    /// Removes and returns the endpoint with the same identity.
    pub fn remove(&mut self, endpoint: &impl EndpointSource) -> Option<E> {
        let key = AddressKey::of(endpoint);
        let bucket = self.by_address.find_entry(key.hash(), |other| {
            other.key == key && same_identity(&other.endpoint, endpoint)
        });
        if let Ok(found) = bucket {
            return Some(found.remove().0.endpoint);
        }
        if self.same_address.is_empty() {
            return None;
        }
        let found = self
            .same_address
            .find_entry(hash_with_name(endpoint), |other| same_identity(other, endpoint));
        found.ok().map(|found| found.remove().0)
    }

    /// The endpoints sorted by identity, independent of the order of insertion (G32).
    #[must_use]
    pub fn into_sorted(self) -> Vec<E> {
        // Single IPv4 addresses are sorted by the key in the table: reading the endpoint would cost a cache miss each.
        if self.same_address.is_empty() && self.by_address.iter().all(|bucket| bucket.key.is_ipv4()) {
            let mut sorted: Vec<_> = self.by_address.into_iter().collect();
            sorted.sort_unstable_by_key(|bucket| bucket.key);
            return sorted.into_iter().map(|bucket| bucket.endpoint).collect();
        }
        let unique = self.by_address.into_iter().map(|bucket| bucket.endpoint);
        let endpoints = unique.chain(self.same_address);
        let mut keyed: Vec<_> = endpoints.map(|endpoint| (sort_key(&endpoint), endpoint)).collect();
        keyed.sort_unstable_by(|(a, first), (b, second)| a.cmp(b).then_with(|| compare(first, second)));
        keyed.into_iter().map(|(_, endpoint)| endpoint).collect()
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
