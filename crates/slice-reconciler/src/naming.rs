//! Names of new slices: deterministic, so that a repeated create conflicts with itself.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use sha2::{Digest as _, Sha256};
use slice_core::{AddressType, PortMapKey, limits::GENERATED_NAME_PREFIX_MAX};

use crate::{Owner, Partition};

/// The alphabet of `generateName`: no vowels, which could form words, and no characters that are easily misread.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

/// Allocates names for the new slices of one owner.
///
/// A name is a hash of the owner's uid, the partition, the address type, the ports and the lowest free ordinal, in the form
/// of `generateName`. A create that is repeated after a lost response or from a stale cache fails with `AlreadyExists`.
pub(crate) struct NameAllocator<'a> {
    owner: Owner<'a>,
    partition: Partition<'a>,
    prefix: &'a str,
    /// Names in use, terminating slices included. They move to `in_use` at the first allocation.
    initial: Vec<&'a str>,
    in_use: HashSet<Cow<'a, str>>,
    /// The lowest ordinal that was not tried yet.
    next_ordinal: BTreeMap<(AddressType, PortMapKey), u64>,
}

impl<'a> NameAllocator<'a> {
    pub(crate) fn new(
        owner: Owner<'a>,
        partition: Partition<'a>,
        prefix: &'a str,
        in_use: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            owner,
            partition,
            prefix,
            initial: in_use.into_iter().collect(),
            in_use: HashSet::new(),
            next_ordinal: BTreeMap::new(),
        }
    }

    /// The next free name for a slice of this type with these ports.
    pub(crate) fn allocate(&mut self, address_type: AddressType, ports: &PortMapKey) -> String {
        let seed = seed(self.owner.uid, self.partition, address_type, ports);
        let prefix = truncate_prefix(self.prefix);
        let ordinal = self.next_ordinal.entry((address_type, ports.clone())).or_default();
        self.in_use.extend(self.initial.drain(..).map(Cow::Borrowed));
        // Terminates: there are more ordinals than names, and more names than slices.
        loop {
            let name = format!("{prefix}{}", suffix(&seed, *ordinal));
            *ordinal += 1;
            if self.in_use.insert(Cow::Owned(name.clone())) {
                return name;
            }
        }
    }
}

/// Truncates a prefix to the length that the API server allows.
pub(crate) fn truncate_prefix(prefix: &str) -> &str {
    let mut end = prefix.len().min(GENERATED_NAME_PREFIX_MAX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    &prefix[..end]
}

/// The hash of everything but the ordinal. Each part is preceded by its length, so that the encoding is unambiguous.
fn seed(uid: &str, partition: Partition<'_>, address_type: AddressType, ports: &PortMapKey) -> Sha256 {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(uid.as_bytes());
    for (key, value) in partition.sorted() {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    // A separator that is no valid label ends the list of labels.
    add(b"/");
    add(address_type.as_str().as_bytes());
    for port in ports.ports() {
        add(port.name.as_bytes());
        add(port.protocol.as_bytes());
        add(&port.port.map(i32::to_le_bytes).map_or(vec![], |bytes| bytes.to_vec()));
        add(&[u8::from(port.app_protocol.is_some())]);
        add(port.app_protocol.as_deref().unwrap_or_default().as_bytes());
    }
    hash
}

fn suffix(seed: &Sha256, ordinal: u64) -> String {
    let mut hash = seed.clone();
    hash.update(ordinal.to_le_bytes());
    encode(&hash.finalize()).take(SUFFIX_LENGTH).collect()
}

/// Encodes a hash in characters that are valid in any name.
pub(crate) fn encode(hash: &[u8]) -> impl Iterator<Item = char> {
    hash.iter()
        .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(uid: &str) -> Owner<'_> {
        Owner {
            api_version: "v1",
            kind: "Service",
            namespace: "ns",
            name: "web",
            uid,
            terminating: false,
        }
    }

    fn name(uid: &str, address_type: AddressType, in_use: &[&str]) -> String {
        let in_use = in_use.iter().copied();
        NameAllocator::new(owner(uid), Partition::default(), "web-", in_use)
            .allocate(address_type, &PortMapKey::new([]))
    }

    #[test]
    fn a_name_is_a_function_of_owner_type_ports_and_ordinal() {
        let first = name("1", AddressType::IPv4, &[]);
        assert_eq!(first, name("1", AddressType::IPv4, &[]));
        assert_ne!(first, name("2", AddressType::IPv4, &[]));
        assert_ne!(first, name("1", AddressType::IPv6, &[]));
        let second = name("1", AddressType::IPv4, &[&first]);
        assert_ne!(first, second);
        // The lowest free ordinal, not the next one.
        assert_eq!(first, name("1", AddressType::IPv4, &[&second]));
    }

    #[test]
    fn new_slices_of_one_plan_get_different_names() {
        let mut names = NameAllocator::new(owner("1"), Partition::default(), "web-", []);
        let ports = PortMapKey::new([]);
        assert_ne!(
            names.allocate(AddressType::IPv4, &ports),
            names.allocate(AddressType::IPv4, &ports)
        );
    }

    /// Names have the form of `generateName` (R142, T-MIR-N22).
    #[test]
    fn names_have_the_form_of_generate_name() {
        let long = format!("{}-", "a".repeat(63));
        let name = NameAllocator::new(owner("1"), Partition::default(), &long, [])
            .allocate(AddressType::IPv4, &PortMapKey::new([]));
        let (prefix, suffix) = name.split_at(58);
        assert_eq!(prefix, "a".repeat(58));
        assert_eq!(suffix.len(), 5);
        assert!(suffix.bytes().all(|byte| ALPHABET.contains(&byte)), "{suffix}");
    }
}
