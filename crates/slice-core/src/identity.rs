//! What makes an endpoint the same one (R76, G5): its addresses in any order, its hostname, and the namespace and name of
//! what is behind it. Absent and empty are the same here.

use std::{
    cmp::Ordering,
    hash::{BuildHasher as _, Hasher as _},
};

use foldhash::fast::{FixedState, FoldHasher};
use smallvec::SmallVec;

use crate::{
    Address, EndpointRef, EndpointSource,
    endpoint::{agree, are_of_one_object},
};

#[inline]
fn hostname<'a>(endpoint: &EndpointRef<'a>) -> &'a str {
    endpoint.hostname.unwrap_or_default()
}

#[inline]
fn namespace<'a>(endpoint: &EndpointRef<'a>) -> &'a str {
    endpoint.target.and_then(|target| target.namespace).unwrap_or_default()
}

#[inline]
fn name<'a>(endpoint: &EndpointRef<'a>) -> &'a str {
    endpoint.target.and_then(|target| target.name).unwrap_or_default()
}

/// Whether two endpoints are the same one, whatever else they say.
#[inline]
pub(crate) fn is_same(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    have_same_addresses(a, b) && have_same_names(a, b)
}

/// Whether endpoints with the same addresses are the same one.
#[inline]
pub(crate) fn have_same_names(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    (are_of_one_object(a, b)
        || agree(a, b, |endpoint| Some(name(endpoint))) && agree(a, b, |endpoint| Some(namespace(endpoint))))
        && agree(a, b, |endpoint| Some(hostname(endpoint)))
}

#[inline]
pub(crate) fn have_same_addresses(a: &impl EndpointSource, b: &impl EndpointSource) -> bool {
    match (a.view().addresses, b.view().addresses) {
        ([a], [b]) => a == b,
        (a, b) => compare_sets(a, b).is_eq(),
    }
}

/// An order in which endpoints compare equal exactly when they are the same one.
pub(crate) fn compare(a: &impl EndpointSource, b: &impl EndpointSource) -> Ordering {
    let (a, b) = (&a.view(), &b.view());
    compare_sets(a.addresses, b.addresses)
        .then_with(|| hostname(a).cmp(hostname(b)))
        .then_with(|| namespace(a).cmp(namespace(b)))
        .then_with(|| name(a).cmp(name(b)))
}

/// The first thing to compare: the lowest address. Unlike the rest it lies in one place with others, so that sorting by it
/// is quick; what is left to [`compare`] are endpoints that share it.
pub(crate) fn rank(endpoint: &impl EndpointSource) -> Option<(u8, [u8; 16])> {
    let rank = |address: &Address| match address {
        Address::V4(address) => (0, u128::from(address.to_bits()).to_be_bytes()),
        Address::V6(address) => (1, address.octets()),
        Address::Text(_) => (2, [0; 16]),
    };
    endpoint.view().addresses.iter().map(rank).min()
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

/// What addresses are looked up by. They alone tell nearly all endpoints apart, and lie closer at hand than names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressTag {
    /// One IPv4 address, and so nothing is left to compare.
    Exact(u32),
    /// Others may have the same.
    Hashed(u32),
}

impl AddressTag {
    #[inline]
    pub(crate) fn of(endpoint: &impl EndpointSource) -> Self {
        match endpoint.view().addresses {
            [Address::V4(address)] => Self::Exact(address.to_bits()),
            addresses => Self::Hashed(low_half(hash_addresses(addresses))),
        }
    }

    #[inline]
    pub(crate) fn hash(self) -> u64 {
        let (Self::Exact(bits) | Self::Hashed(bits)) = self;
        let mut hasher = hasher();
        hasher.write_u32(bits);
        hasher.finish()
    }

    #[inline]
    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is as good as any")]
fn low_half(hash: u64) -> u32 {
    hash as u32
}

fn hash_addresses(addresses: &[Address]) -> u64 {
    match addresses {
        [address] => hash_address(address),
        addresses => addresses.iter().map(hash_address).fold(0, u64::wrapping_add),
    }
}

/// Tells endpoints with the same addresses apart.
pub(crate) fn hash_with_name(endpoint: &impl EndpointSource) -> u64 {
    let mut hasher = hasher();
    hasher.write_u64(hash_addresses(endpoint.view().addresses));
    hasher.write(name(&endpoint.view()).as_bytes());
    hasher.finish()
}

#[inline]
fn hash_address(address: &Address) -> u64 {
    let mut hasher = hasher();
    match address {
        Address::V4(address) => hasher.write_u32(address.to_bits()),
        Address::V6(address) => hasher.write_u128(address.to_bits()),
        Address::Text(text) => hasher.write(text.as_bytes()),
    }
    hasher.finish()
}

#[inline]
fn hasher() -> FoldHasher<'static> {
    FixedState::default().build_hasher()
}
