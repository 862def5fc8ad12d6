//! The subsets of an Endpoints object in canonical form (mirroring.md §7).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};
use slice_core::{Address, Port};

use crate::Reason;

/// An Endpoints object, read: each address once, each port in one subset only, and subsets of the same addresses joined.
///
/// It holds what the endpoints of [`Subsets::desired`] borrow.
#[derive(Debug)]
pub struct Subsets<'a> {
    /// By IP, byte for byte, then by uid (M55).
    pub(crate) sources: Vec<Source<'a>>,
    /// By ports.
    pub(crate) canonical: Vec<Subset>,
    /// Ports whose number none can have.
    pub(crate) refused: Vec<&'a EndpointPort>,
}

/// An address of the object, as it was first seen (M50).
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) written: &'a EndpointAddress,
    /// What can be published of it.
    pub(crate) read: Result<Address, Reason>,
}

/// A subset with unique members and ports.
#[derive(Debug)]
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

impl<'a> Subsets<'a> {
    /// Reads an object. Whatever it holds, this succeeds; what cannot be mirrored is named by [`Subsets::desired`].
    #[must_use]
    pub fn read(endpoints: &'a Endpoints) -> Self {
        let written = endpoints.subsets.as_deref().unwrap_or_default();
        let (sources, members) = read_addresses(written);
        let (ports, refused) = read_ports(written, &members);
        Self {
            sources,
            canonical: join(ports, &members),
            refused,
        }
    }
}

/// What makes an address the same one (M47). Absent and empty uids are the same.
fn identity(address: &EndpointAddress) -> (&str, &str) {
    let uid = address.target_ref.as_ref().and_then(|target| target.uid.as_deref());
    (&address.ip, uid.unwrap_or_default())
}

/// Each address once, and for each subset as it was written its members.
fn read_addresses(subsets: &[EndpointSubset]) -> (Vec<Source<'_>>, Vec<Vec<Member>>) {
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
        sources.push(Source::from(same[0].address));
        for sighting in same {
            let ready = sighting.ready;
            members[sighting.subset].push(Member { source, ready });
        }
    }
    (sources, members.into_iter().map(merge).collect())
}

impl<'a> From<&'a EndpointAddress> for Source<'a> {
    fn from(written: &'a EndpointAddress) -> Self {
        let publishable = |address: Address| match address.publishable() {
            Ok(()) => Ok(address),
            Err(refusal) => Err(Reason::Unpublishable(refusal)),
        };
        Self {
            written,
            read: Address::parse_ip(&written.ip)
                .ok_or(Reason::NotAnIp)
                .and_then(publishable),
        }
    }
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

fn read_ports<'a>(subsets: &'a [EndpointSubset], members: &[Vec<Member>]) -> (SubsetsByPort, Vec<&'a EndpointPort>) {
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
            let read = read_port(port);
            if read.is_none() {
                refused.push(port);
            }
            by_port.entry(read).or_default().insert(subset);
        }
    }
    (by_port, refused)
}

/// The port with the API's defaults (M65), unless no port can have its number.
fn read_port(port: &EndpointPort) -> Option<Port> {
    let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty());
    (1..=65535).contains(&port.port).then(|| Port {
        name: port.name.as_deref().unwrap_or_default().into(),
        protocol: protocol.unwrap_or("TCP").into(),
        port: Some(port.port),
        app_protocol: port.app_protocol.as_deref().map(Into::into),
    })
}

/// Joins the ports that have the same members, equally ready (M52).
fn join(by_port: SubsetsByPort, members: &[Vec<Member>]) -> Vec<Subset> {
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
    canonical
}

#[cfg(test)]
mod tests;
