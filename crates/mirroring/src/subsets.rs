//! The subsets of an Endpoints object in canonical form (mirroring.md §7).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, ObjectReference};
use slice_core::{Address, Interner, Port, Target};

use crate::AddressSkipReason;

/// The subsets of an Endpoints object, read: each address once, each port in one subset only, and subsets of the same
/// addresses joined. Two that are equal want the same slices.
///
/// Compact, to be kept in place of the object. The endpoints of [`Subsets::desired`] borrow from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subsets {
    /// By IP as it was written, byte for byte, then by uid (M55).
    pub(crate) sources: Box<[Source]>,
    /// By ports.
    pub(crate) canonical: Box<[Subset]>,
    /// Ports whose number none can have.
    pub(crate) refused: Box<[RefusedPort]>,
}

/// An address of the object, as it was first seen (M50).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// What cannot be read is kept as text.
    pub(crate) address: Address,
    /// Why it cannot be published.
    pub(crate) refused: Option<AddressSkipReason>,
    pub(crate) hostname: Option<Arc<str>>,
    pub(crate) node_name: Option<Arc<str>>,
    pub(crate) target: Option<Target>,
}

/// A port whose number none can have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RefusedPort {
    pub(crate) name: Arc<str>,
    pub(crate) number: i32,
}

/// A subset with unique members and ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subset {
    /// In order; names need not be unique. None, where addresses have none.
    pub(crate) ports: Vec<Port>,
    /// In the order of sources; at least one (M54).
    pub(crate) members: Vec<Member>,
}

/// An address of a subset: its place among the sources, and whether it is ready there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) source: usize,
    pub(crate) ready: bool,
}

impl Subsets {
    /// Reads an object. Whatever it holds, this succeeds; what cannot be mirrored is named by [`Subsets::desired`].
    #[must_use]
    pub fn read(endpoints: &Endpoints) -> Self {
        Self::from_k8s(endpoints, &mut Interner::default())
    }

    /// Reads an object, with interned strings.
    pub fn from_k8s(endpoints: &Endpoints, interner: &mut Interner) -> Self {
        let written = endpoints.subsets.as_deref().unwrap_or_default();
        let (sources, members) = read_addresses(written, interner);
        let (ports, refused) = read_ports(written, &members, interner);
        Self {
            sources: sources.into(),
            canonical: join(ports, &members),
            refused: refused.into(),
        }
    }
}

/// What makes an address the same one (M47). Absent and empty uids are the same.
fn identity(address: &EndpointAddress) -> (&str, &str) {
    let uid = address.target_ref.as_ref().and_then(|target| target.uid.as_deref());
    (&address.ip, uid.unwrap_or_default())
}

/// Each address once, and for each subset as it was written its members.
fn read_addresses(subsets: &[EndpointSubset], interner: &mut Interner) -> (Vec<Source>, Vec<Vec<Member>>) {
    struct Sighting<'a> {
        address: &'a EndpointAddress,
        subset: usize,
        ready: bool,
    }
    let mut sightings = Vec::new();
    for (subset, written) in subsets.iter().enumerate() {
        for (addresses, ready) in [(&written.addresses, true), (&written.not_ready_addresses, false)] {
            let sighting = |address| Sighting { address, subset, ready };
            sightings.extend(addresses.iter().flatten().map(sighting));
        }
    }
    // A stable sort: the first sighting stays the first.
    sightings.sort_by_key(|sighting| identity(sighting.address));

    let mut sources = Vec::new();
    let mut members = vec![Vec::new(); subsets.len()];
    for same in sightings.chunk_by(|a, b| identity(a.address) == identity(b.address)) {
        let source = sources.len();
        sources.push(Source::read(same[0].address, interner));
        for sighting in same {
            let ready = sighting.ready;
            members[sighting.subset].push(Member { source, ready });
        }
    }
    (sources, members.into_iter().map(merge).collect())
}

impl Source {
    fn read(written: &EndpointAddress, interner: &mut Interner) -> Self {
        let (address, refused) = match Address::parse_ip(&written.ip) {
            Some(address) => {
                let refused = address.validate().err().map(AddressSkipReason::Invalid);
                (address, refused)
            }
            None => (
                Address::Other(interner.intern(&written.ip)),
                Some(AddressSkipReason::NotAnIp),
            ),
        };
        Self {
            address,
            refused,
            hostname: given(&written.hostname).map(|hostname| interner.intern(hostname)),
            node_name: written.node_name.as_deref().map(|node| interner.intern(node)),
            target: written
                .target_ref
                .as_ref()
                .map(|target| Target::from_k8s(&without_empty_fields(target), interner)),
        }
    }
}

/// The reference as the API server would store it: an empty field is absent. Otherwise the slice would never be as desired.
fn without_empty_fields(written: &ObjectReference) -> ObjectReference {
    let field = |text: &Option<String>| given(text).map(str::to_owned);
    ObjectReference {
        kind: field(&written.kind),
        namespace: field(&written.namespace),
        name: field(&written.name),
        uid: field(&written.uid),
        api_version: field(&written.api_version),
        field_path: field(&written.field_path),
        resource_version: field(&written.resource_version),
    }
}

/// An empty string as the API server would store it: not at all. Otherwise the slice would never look as wanted.
#[expect(clippy::ref_option, reason = "it is how the API's types hold their fields")]
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Each member once; one that is not ready somewhere is not ready (M51).
fn merge(mut members: Vec<Member>) -> Vec<Member> {
    // Not ready comes first, and so is the one that stays.
    members.sort_unstable();
    members.dedup_by_key(|member| member.source);
    members
}

/// The subsets, as they were written, that each port is in. `None` stands for the port of those that have none (M49).
type SubsetsByPort = BTreeMap<Option<Port>, BTreeSet<usize>>;

fn read_ports(
    subsets: &[EndpointSubset],
    members: &[Vec<Member>],
    interner: &mut Interner,
) -> (SubsetsByPort, Vec<RefusedPort>) {
    let mut by_port = SubsetsByPort::new();
    let mut refused = Vec::new();
    for (subset, written) in subsets
        .iter()
        .enumerate()
        .filter(|(subset, _)| !members[*subset].is_empty())
    {
        let ports = written.ports.as_deref().unwrap_or_default();
        if ports.is_empty() {
            by_port.entry(None).or_default().insert(subset);
        }
        for port in ports {
            let read = read_port(port, interner);
            if read.is_none() {
                refused.push(RefusedPort {
                    name: interner.intern(port.name.as_deref().unwrap_or_default()),
                    number: port.port,
                });
            }
            by_port.entry(read).or_default().insert(subset);
        }
    }
    // So that they are named in one order, whatever order they were written in (M56).
    refused.sort();
    (by_port, refused)
}

/// The port with the API's defaults (M65), unless no port can have its number.
fn read_port(port: &EndpointPort, interner: &mut Interner) -> Option<Port> {
    let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty());
    (1..=65535).contains(&port.port).then(|| Port {
        name: interner.intern(port.name.as_deref().unwrap_or_default()),
        protocol: interner.intern(protocol.unwrap_or("TCP")),
        port: Some(port.port),
        app_protocol: port.app_protocol.as_deref().map(|protocol| interner.intern(protocol)),
    })
}

/// Joins the ports that have the same members, equally ready (M52).
fn join(by_port: SubsetsByPort, members: &[Vec<Member>]) -> Box<[Subset]> {
    // Ports of the same subsets have the same members: these are gathered once for all of them, not once for each port.
    let mut by_subsets: BTreeMap<BTreeSet<usize>, Vec<Port>> = BTreeMap::new();
    for (port, subsets) in by_port {
        by_subsets.entry(subsets).or_default().extend(port);
    }
    let mut by_members: BTreeMap<Vec<Member>, Vec<Port>> = BTreeMap::new();
    for (subsets, ports) in by_subsets {
        let gathered = subsets.iter().flat_map(|subset| &members[*subset]).copied().collect();
        by_members.entry(merge(gathered)).or_default().extend(ports);
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
