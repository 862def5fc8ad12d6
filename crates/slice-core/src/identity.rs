//! The identity of an endpoint: its addresses in any order, its hostname, and the namespace and name of its target (R76, G5).
//! Absent and empty names are equal.

use std::{
    cmp::Ordering,
    hash::{BuildHasher as _, Hasher as _},
};

use foldhash::fast::{FixedState, FoldHasher};
use smallvec::SmallVec;

use crate::{Address, EndpointSource, TargetView, endpoint::same_str};

fn hostname(endpoint: &impl EndpointSource) -> &str {
    endpoint.hostname().unwrap_or_default()
}

fn namespace(target: Option<TargetView<'_>>) -> &str {
    target.and_then(TargetView::namespace).unwrap_or_default()
}

fn name(target: Option<TargetView<'_>>) -> &str {
    target.and_then(TargetView::name).unwrap_or_default()
}

/// Whether two endpoints have the same identity.
pub(crate) fn same_identity(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    same_addresses(a, b) && same_names(a, b)
}

fn same_names(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    let same_target = match (a.target(), b.target()) {
        (Some(a), Some(b)) if a.same_identity_ptr(b) => true,
        (a, b) => same_str(name(a), name(b)) && same_str(namespace(a), namespace(b)),
    };
    same_target && same_str(hostname(a), hostname(b))
}

/// Whether two endpoints have the same addresses, in any order.
pub(crate) fn same_addresses(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    match (a.addresses(), b.addresses()) {
        ([a], [b]) => a == b,
        (a, b) => compare_sets(a, b).is_eq(),
    }
}

/// A total order of endpoints by identity.
pub(crate) fn compare(a: &impl EndpointSource, b: &impl EndpointSource) -> Ordering {
    compare_sets(a.addresses(), b.addresses())
        .then_with(|| hostname(a).cmp(hostname(b)))
        .then_with(|| namespace(a.target()).cmp(namespace(b.target())))
        .then_with(|| name(a.target()).cmp(name(b.target())))
}

/// Sort key: the lowest address. [`compare`] is only needed for endpoints with equal keys.
pub(crate) fn sort_key(endpoint: &impl EndpointSource) -> Option<(u8, [u8; 16])> {
    let key = |address: &Address| match address {
        Address::V4(address) => (0, u128::from(address.to_bits()).to_be_bytes()),
        Address::V6(address) => (1, address.octets()),
        Address::Other(_) => (2, [0; 16]),
    };
    endpoint.addresses().iter().map(key).min()
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

/// Hash key of an endpoint's addresses, which are nearly always unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressKey {
    /// A single IPv4 address: equal keys are equal addresses.
    Ipv4(u32),
    /// A hash of any other addresses.
    Hashed(u32),
}

impl AddressKey {
    pub(crate) fn of(endpoint: &impl EndpointSource) -> Self {
        match endpoint.addresses() {
            [Address::V4(address)] => Self::Ipv4(address.to_bits()),
            addresses => Self::Hashed(low_half(hash_addresses(addresses))),
        }
    }

    pub(crate) fn hash(self) -> u64 {
        let (Self::Ipv4(bits) | Self::Hashed(bits)) = self;
        let mut hasher = hasher();
        hasher.write_u32(bits);
        hasher.finish()
    }

    pub(crate) fn is_ipv4(self) -> bool {
        matches!(self, Self::Ipv4(_))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "any half of the hash will do")]
fn low_half(hash: u64) -> u32 {
    hash as u32
}

fn hash_addresses(addresses: &[Address]) -> u64 {
    match addresses {
        [address] => hash_address(address),
        addresses => addresses.iter().map(hash_address).fold(0, u64::wrapping_add),
    }
}

/// Hash of the addresses and the name of the target, for endpoints that share addresses.
pub(crate) fn hash_with_name(endpoint: &impl EndpointSource) -> u64 {
    let mut hasher = hasher();
    hasher.write_u64(hash_addresses(endpoint.addresses()));
    hasher.write(name(endpoint.target()).as_bytes());
    hasher.finish()
}

fn hash_address(address: &Address) -> u64 {
    let mut hasher = hasher();
    match address {
        Address::V4(address) => hasher.write_u32(address.to_bits()),
        Address::V6(address) => hasher.write_u128(address.to_bits()),
        Address::Other(text) => hasher.write(text.as_bytes()),
    }
    hasher.finish()
}

fn hasher() -> FoldHasher<'static> {
    FixedState::default().build_hasher()
}
