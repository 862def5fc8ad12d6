//! Reference implementation of the canonical form of an Endpoints object, by brute force: the members of each port
//! (mirroring.md §7).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};
use slice_core::{Address, Port};

/// Addresses by IP and uid; true if ready in all occurrences.
pub(crate) type Members = BTreeMap<(String, String), bool>;

/// Ports by set of members. `None` stands for "no port".
pub(crate) type Canonical = BTreeMap<Members, BTreeSet<Option<Port>>>;

pub(crate) fn canonical(endpoints: &Endpoints) -> Canonical {
    let mut by_port: BTreeMap<Option<Port>, Members> = BTreeMap::new();
    for subset in endpoints.subsets.iter().flatten() {
        for port in ports(subset) {
            let members = by_port.entry(port).or_default();
            for (address, ready) in addresses(subset) {
                *members.entry(identity(address)).or_insert(true) &= ready;
            }
        }
    }
    let mut canonical = Canonical::new();
    for (port, members) in by_port.into_iter().filter(|(_, members)| !members.is_empty()) {
        canonical.entry(members).or_default().insert(port);
    }
    canonical
}

/// Number of valid addresses of a canonical subset.
pub(crate) fn count_valid(members: &Members) -> usize {
    let addresses = members.keys().filter_map(|(ip, _)| Address::parse_ip(ip));
    addresses.filter(|address| address.validate().is_ok()).count()
}

fn addresses(subset: &EndpointSubset) -> impl Iterator<Item = (&EndpointAddress, bool)> {
    let ready = subset.addresses.iter().flatten().map(|address| (address, true));
    let not_ready = subset
        .not_ready_addresses
        .iter()
        .flatten()
        .map(|address| (address, false));
    ready.chain(not_ready)
}

fn ports(subset: &EndpointSubset) -> Vec<Option<Port>> {
    let ports = subset.ports.as_deref().unwrap_or_default();
    if ports.is_empty() {
        vec![None]
    } else {
        ports.iter().map(port).collect()
    }
}

/// Returns `None` for a port number out of range.
fn port(port: &EndpointPort) -> Option<Port> {
    let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty());
    (1..=65_535).contains(&port.port).then(|| Port {
        name: port.name.as_deref().unwrap_or_default().into(),
        protocol: protocol.unwrap_or("TCP").into(),
        port: Some(port.port),
        app_protocol: port.app_protocol.as_deref().map(Into::into),
    })
}

fn identity(address: &EndpointAddress) -> (String, String) {
    let uid = address.target_ref.as_ref().and_then(|target| target.uid.clone());
    (address.ip.clone(), uid.unwrap_or_default())
}
