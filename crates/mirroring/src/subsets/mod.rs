//! Canonical form of the subsets of an Endpoints object (mirroring.md §7).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, ObjectReference};
use slice_core::{Address, Interner, Port, Target};

use crate::AddressSkipReason;

/// Canonical subsets of an Endpoints object: each address once, each port in one subset only, subsets with the same addresses
/// joined. Objects with equal `Subsets` have the same desired endpoints.
///
/// A compact form for a cache, instead of the object itself. The endpoints of [`Subsets::desired`] borrow from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subsets {
    /// Unique addresses, sorted by the bytes of the IP as written, then by uid (M55).
    pub(crate) addresses: Box<[SubsetAddress]>,
    /// Canonical subsets, sorted by ports.
    pub(crate) canonical: Box<[Subset]>,
    /// Ports with a number out of range, sorted.
    pub(crate) invalid_ports: Box<[InvalidPort]>,
}

/// An address of the object with the attributes of its first occurrence (M50).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubsetAddress {
    /// The text as written if it is not an IP address.
    pub(crate) address: Address,
    /// Why it cannot be published, if so.
    pub(crate) invalid: Option<AddressSkipReason>,
    pub(crate) hostname: Option<Arc<str>>,
    pub(crate) node_name: Option<Arc<str>>,
    pub(crate) target: Option<Target>,
}

/// A port with a number out of range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InvalidPort {
    pub(crate) name: Arc<str>,
    pub(crate) number: i32,
}

/// A subset with unique members and ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subset {
    /// Sorted; names need not be unique. Empty if the addresses have no port.
    pub(crate) ports: Vec<Port>,
    /// Sorted by address, never empty (M54).
    pub(crate) members: Vec<Member>,
}

/// Membership of an address in a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// Index into [`Subsets::addresses`].
    pub(crate) address: usize,
    pub(crate) ready: bool,
}

impl Subsets {
    /// Reads the subsets of an object. Never fails: [`Subsets::desired`] reports entries that cannot be mirrored.
    #[must_use]
    pub fn read(endpoints: &Endpoints) -> Self {
        Self::from_k8s(endpoints, &mut Interner::default())
    }

    /// Reads the subsets of an object with interned strings.
    pub fn from_k8s(endpoints: &Endpoints, interner: &mut Interner) -> Self {
        let subsets = endpoints.subsets.as_deref().unwrap_or_default();
        let (addresses, members) = read_addresses(subsets, interner);
        let (ports, invalid_ports) = read_ports(subsets, &members, interner);
        Self {
            addresses: addresses.into(),
            canonical: join_ports(ports, &members),
            invalid_ports: invalid_ports.into(),
        }
    }
}

/// Identity of an address: IP and target uid. An absent uid equals an empty one (M47).
fn identity(address: &EndpointAddress) -> (&str, &str) {
    let uid = address.target_ref.as_ref().and_then(|target| target.uid.as_deref());
    (&address.ip, uid.unwrap_or_default())
}

/// Returns the unique addresses, and the members of each subset of the object.
fn read_addresses(subsets: &[EndpointSubset], interner: &mut Interner) -> (Vec<SubsetAddress>, Vec<Vec<Member>>) {
    struct Occurrence<'a> {
        address: &'a EndpointAddress,
        subset: usize,
        ready: bool,
    }
    let mut occurrences = Vec::new();
    for (index, subset) in subsets.iter().enumerate() {
        for (addresses, ready) in [(&subset.addresses, true), (&subset.not_ready_addresses, false)] {
            let occurrence = |address| Occurrence {
                address,
                subset: index,
                ready,
            };
            occurrences.extend(addresses.iter().flatten().map(occurrence));
        }
    }
    // Stable sort: the first occurrence in the object stays first.
    occurrences.sort_by_key(|occurrence| identity(occurrence.address));

    let mut unique = Vec::new();
    let mut members = vec![Vec::new(); subsets.len()];
    for same in occurrences.chunk_by(|a, b| identity(a.address) == identity(b.address)) {
        let address = unique.len();
        unique.push(SubsetAddress::from_k8s(same[0].address, interner));
        for occurrence in same {
            let ready = occurrence.ready;
            members[occurrence.subset].push(Member { address, ready });
        }
    }
    (unique, members.into_iter().map(merge).collect())
}

impl SubsetAddress {
    fn from_k8s(api_address: &EndpointAddress, interner: &mut Interner) -> Self {
        let (address, invalid) = match Address::parse_ip(&api_address.ip) {
            Some(address) => {
                let invalid = address.validate().err().map(AddressSkipReason::Invalid);
                (address, invalid)
            }
            None => (
                Address::Other(interner.intern(&api_address.ip)),
                Some(AddressSkipReason::NotAnIp),
            ),
        };
        Self {
            address,
            invalid,
            hostname: non_empty(&api_address.hostname).map(|hostname| interner.intern(hostname)),
            node_name: api_address.node_name.as_deref().map(|node| interner.intern(node)),
            target: api_address
                .target_ref
                .as_ref()
                .map(|target| Target::from_k8s(&without_empty_fields(target), interner)),
        }
    }
}

/// Returns the reference as the API server stores it, without empty fields. Otherwise the stored slice would never equal the
/// desired one.
fn without_empty_fields(reference: &ObjectReference) -> ObjectReference {
    let field = |text: &Option<String>| non_empty(text).map(str::to_owned);
    ObjectReference {
        kind: field(&reference.kind),
        namespace: field(&reference.namespace),
        name: field(&reference.name),
        uid: field(&reference.uid),
        api_version: field(&reference.api_version),
        field_path: field(&reference.field_path),
        resource_version: field(&reference.resource_version),
    }
}

/// Returns `None` for an empty string, as the API server stores it.
#[expect(clippy::ref_option, reason = "fields of the API types are `Option<String>`")]
fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Merges duplicate members. An address that is not ready in one occurrence is not ready (M51).
fn merge(mut members: Vec<Member>) -> Vec<Member> {
    // `false` sorts first, so `dedup` keeps the member that is not ready.
    members.sort_unstable();
    members.dedup_by_key(|member| member.address);
    members
}

/// Subsets of the object by port. The key `None` stands for "no port" (M49).
type SubsetsByPort = BTreeMap<Option<Port>, BTreeSet<usize>>;

fn read_ports(
    subsets: &[EndpointSubset],
    members: &[Vec<Member>],
    interner: &mut Interner,
) -> (SubsetsByPort, Vec<InvalidPort>) {
    let mut by_port = SubsetsByPort::new();
    let mut invalid = Vec::new();
    for (index, subset) in subsets
        .iter()
        .enumerate()
        .filter(|(index, _)| !members[*index].is_empty())
    {
        let ports = subset.ports.as_deref().unwrap_or_default();
        if ports.is_empty() {
            by_port.entry(None).or_default().insert(index);
        }
        for port in ports {
            let read = read_port(port, interner);
            if read.is_none() {
                invalid.push(InvalidPort {
                    name: interner.intern(port.name.as_deref().unwrap_or_default()),
                    number: port.port,
                });
            }
            by_port.entry(read).or_default().insert(index);
        }
    }
    // The order of reports must not depend on the order in the object (M56).
    invalid.sort();
    (by_port, invalid)
}

/// Returns the port with the API defaults (M65), or `None` if its number is out of range.
fn read_port(port: &EndpointPort, interner: &mut Interner) -> Option<Port> {
    let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty());
    (1..=65535).contains(&port.port).then(|| Port {
        name: interner.intern(port.name.as_deref().unwrap_or_default()),
        protocol: interner.intern(protocol.unwrap_or("TCP")),
        port: Some(port.port),
        app_protocol: port.app_protocol.as_deref().map(|protocol| interner.intern(protocol)),
    })
}

/// Joins ports that have the same members with the same readiness (M52).
fn join_ports(by_port: SubsetsByPort, members: &[Vec<Member>]) -> Box<[Subset]> {
    // Ports of the same subsets have the same members, so the members are merged once per set of subsets, not once per port.
    let mut by_subsets: BTreeMap<BTreeSet<usize>, Vec<Port>> = BTreeMap::new();
    for (port, subsets) in by_port {
        by_subsets.entry(subsets).or_default().extend(port);
    }
    let mut by_members: BTreeMap<Vec<Member>, Vec<Port>> = BTreeMap::new();
    for (subsets, ports) in by_subsets {
        let all = subsets.iter().flat_map(|subset| &members[*subset]).copied().collect();
        by_members.entry(merge(all)).or_default().extend(ports);
    }
    let mut canonical: Vec<Subset> = by_members
        .into_iter()
        .map(|(members, mut ports)| {
            ports.sort_unstable();
            Subset { ports, members }
        })
        .collect();
    canonical.sort_unstable_by(|a, b| a.ports.cmp(&b.ports));
    canonical.into()
}

#[cfg(test)]
mod tests;
