//! Names of new slices, chosen so that a repeated create meets itself.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use sha2::{Digest as _, Sha256};
use slice_core::{AddressType, PortMapKey, limits::GENERATED_NAME_PREFIX_MAX};

use crate::{Owner, Partition};

/// The characters that API servers generate names from: nothing that spells words or is easily misread.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

/// Hands out names for the new slices of one owner.
///
/// A name is a function of the owner's uid, the partition, the address type, the ports and the lowest ordinal that is not in
/// use, with the look of a generated one. A create whose answer was lost, or that somebody with an old view repeats, meets itself.
pub(crate) struct Names<'a> {
    owner: Owner<'a>,
    partition: Partition<'a>,
    prefix: &'a str,
    /// Names in use, those of slices that are being deleted included, until the first new one is wanted.
    given: Vec<&'a str>,
    /// Names in use, from then on.
    taken: HashSet<Cow<'a, str>>,
    /// Ordinals that were not tried yet; those below are in use.
    untried: BTreeMap<(AddressType, PortMapKey), u64>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        owner: Owner<'a>,
        partition: Partition<'a>,
        prefix: &'a str,
        taken: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            owner,
            partition,
            prefix,
            given: taken.into_iter().collect(),
            taken: HashSet::new(),
            untried: BTreeMap::new(),
        }
    }

    /// The next free name for a slice of this type with these ports.
    pub(crate) fn next(&mut self, address_type: AddressType, ports: &PortMapKey) -> String {
        let seed = seed(self.owner.uid, self.partition, address_type, ports);
        let prefix = cut(self.prefix);
        let ordinal = self.untried.entry((address_type, ports.clone())).or_default();
        self.taken.extend(self.given.drain(..).map(Cow::Borrowed));
        // There are more ordinals than names, and more names than slices.
        loop {
            let name = format!("{prefix}{}", suffix(&seed, *ordinal));
            *ordinal += 1;
            if self.taken.insert(Cow::Owned(name.clone())) {
                return name;
            }
        }
    }
}

/// As much of a prefix as the API server would take.
pub(crate) fn cut(prefix: &str) -> &str {
    let mut end = prefix.len().min(GENERATED_NAME_PREFIX_MAX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    &prefix[..end]
}

/// Every part goes in with its length, so that no two lists of parts run together.
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
    // What is in no label keeps the labels apart from what follows.
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
    characters(&hash.finalize()).take(SUFFIX_LENGTH).collect()
}

/// A hash in characters that are good in any name.
pub(crate) fn characters(hash: &[u8]) -> impl Iterator<Item = char> {
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

    fn name(uid: &str, address_type: AddressType, taken: &[&str]) -> String {
        let taken = taken.iter().copied();
        Names::new(owner(uid), Partition::default(), "web-", taken).next(address_type, &PortMapKey::new([]))
    }

    #[test]
    fn a_name_is_a_function_of_owner_type_ports_and_ordinal() {
        let first = name("1", AddressType::IPv4, &[]);
        assert_eq!(first, name("1", AddressType::IPv4, &[]));
        assert_ne!(first, name("2", AddressType::IPv4, &[]));
        assert_ne!(first, name("1", AddressType::IPv6, &[]));
        let second = name("1", AddressType::IPv4, &[&first]);
        assert_ne!(first, second);
        // The lowest ordinal that is free, not the next one.
        assert_eq!(first, name("1", AddressType::IPv4, &[&second]));
    }

    #[test]
    fn two_new_slices_of_one_plan_get_two_names() {
        let mut names = Names::new(owner("1"), Partition::default(), "web-", []);
        let ports = PortMapKey::new([]);
        assert_ne!(
            names.next(AddressType::IPv4, &ports),
            names.next(AddressType::IPv4, &ports)
        );
    }

    /// R142, T-MIR-N22: the look of a generated name.
    #[test]
    fn names_look_generated() {
        let long = format!("{}-", "a".repeat(63));
        let name =
            Names::new(owner("1"), Partition::default(), &long, []).next(AddressType::IPv4, &PortMapKey::new([]));
        let (prefix, suffix) = name.split_at(58);
        assert_eq!(prefix, "a".repeat(58));
        assert_eq!(suffix.len(), 5);
        assert!(suffix.bytes().all(|byte| ALPHABET.contains(&byte)), "{suffix}");
    }
}
