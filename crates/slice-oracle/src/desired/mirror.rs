//! Desired endpoints of an Endpoints object (mirroring.md §2, §7–10).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};

use super::address::{Family, parse_publishable};
use super::{DesiredEndpoint, Port, normalized};
use crate::object::{Name, annotation, is_terminating, label};
use crate::state::State;
use crate::well_known::{LEADER, SKIP_MIRROR};

/// Whether an Endpoints object is mirrored: it is eligible, and its Service has no selector (M2–M8).
pub(crate) fn is_mirrored(endpoints: &Endpoints, state: &State<'_>) -> bool {
    let metadata = &endpoints.metadata;
    let name = Name::of(metadata);
    let eligible = label(metadata, SKIP_MIRROR) != "true" && annotation(metadata, LEADER).is_none();
    let without_selector = state.services.get(&name).is_some_and(|service| {
        let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        selector.is_none_or(BTreeMap::is_empty)
    });
    eligible && without_selector && !is_terminating(metadata) && state.namespace_is_active(name.namespace)
}

/// An address as written, with the uid of its target (M47).
type AddressKey<'a> = (&'a str, &'a str);
/// Readiness of each address.
type Readiness<'a> = BTreeMap<AddressKey<'a>, bool>;

/// Desired endpoints of an Endpoints object, with the ports of their repacked subset; at most `max` addresses per
/// subset (M69).
pub(crate) fn mirrored_endpoints(endpoints: &Endpoints, max: usize) -> Vec<DesiredEndpoint> {
    let written = endpoints.subsets.as_deref().unwrap_or_default();
    let first_occurrences = first_occurrences(written);
    let subsets = repack_subsets(written).into_iter();
    subsets
        .flat_map(|(readiness, ports)| {
            let selected = select(&readiness, &first_occurrences, max);
            selected.into_iter().map(move |(family, endpoint)| DesiredEndpoint {
                family,
                ports: ports.clone(),
                endpoint,
            })
        })
        .collect()
}

fn address_key(address: &EndpointAddress) -> AddressKey<'_> {
    let target = address.target_ref.as_ref();
    let uid = target.and_then(|target| target.uid.as_deref());
    (&address.ip, uid.unwrap_or_default())
}

/// The addresses of a subset with their readiness, ready ones first.
fn addresses(subset: &EndpointSubset) -> impl Iterator<Item = (&EndpointAddress, bool)> {
    let ready = subset.addresses.as_deref().unwrap_or_default();
    let not_ready = subset.not_ready_addresses.as_deref().unwrap_or_default();
    let ready = ready.iter().map(|address| (address, true));
    ready.chain(not_ready.iter().map(|address| (address, false)))
}

/// The first occurrence of each address, whose fields are used (M50).
fn first_occurrences(subsets: &[EndpointSubset]) -> BTreeMap<AddressKey<'_>, &EndpointAddress> {
    let mut found = BTreeMap::new();
    for (address, _) in subsets.iter().flat_map(addresses) {
        found.entry(address_key(address)).or_insert(address);
    }
    found
}

/// Repacks subsets: ports with equal addresses and readiness form one subset (M51, M52). Addresses without ports form a
/// subset without ports, unless a port has the same addresses.
fn repack_subsets(subsets: &[EndpointSubset]) -> Vec<(Readiness<'_>, BTreeSet<Port>)> {
    let mut by_port: BTreeMap<Option<Port>, Readiness<'_>> = BTreeMap::new();
    for subset in subsets {
        for port in ports(subset) {
            let readiness = by_port.entry(port).or_default();
            for (address, ready) in addresses(subset) {
                // Not ready wins.
                *readiness.entry(address_key(address)).or_insert(true) &= ready;
            }
        }
    }
    let mut repacked: BTreeMap<Readiness<'_>, BTreeSet<Port>> = BTreeMap::new();
    for (port, readiness) in by_port {
        repacked.entry(readiness).or_default().extend(port);
    }
    repacked.into_iter().collect()
}

/// The ports of a subset; `None` stands for no ports or an invalid one (M49).
fn ports(subset: &EndpointSubset) -> BTreeSet<Option<Port>> {
    let written = subset.ports.as_deref().unwrap_or_default();
    let ports = written.iter().map(|port| {
        let (name, protocol) = (port.name.as_ref(), port.protocol.as_ref());
        let possible = (1..=65_535).contains(&port.port);
        possible.then(|| Port::new(name, protocol, Some(port.port), port.app_protocol.as_ref()))
    });
    if written.is_empty() {
        [None].into()
    } else {
        ports.collect()
    }
}

/// The endpoints of a repacked subset: at most `max`, ready ones first, sorted by address text. Of duplicates, the last
/// one is used (M63).
fn select(
    readiness: &Readiness<'_>,
    first_occurrences: &BTreeMap<AddressKey<'_>, &EndpointAddress>,
    max: usize,
) -> Vec<(Family, Endpoint)> {
    let with_readiness = |expected: bool| readiness.iter().filter(move |(_, ready)| **ready == expected);
    let readable = with_readiness(true)
        .chain(with_readiness(false))
        .filter_map(|(address_key, ready)| {
            let address = first_occurrences.get(address_key)?;
            Some((parse_publishable(&address.ip)?, *address, *ready))
        });
    let mut selected = BTreeMap::new();
    for (ip, address, ready) in readable.take(max) {
        let target = address.target_ref.as_ref();
        let identity = (
            ip,
            address.hostname.as_deref().unwrap_or_default(),
            target
                .and_then(|target| target.namespace.as_deref())
                .unwrap_or_default(),
            target.and_then(|target| target.name.as_deref()).unwrap_or_default(),
        );
        selected.insert(identity, (Family::of(ip), endpoint(ip, address, ready)));
    }
    selected.into_values().collect()
}

/// Builds an endpoint from an address (M62).
fn endpoint(ip: IpAddr, address: &EndpointAddress, ready: bool) -> Endpoint {
    normalized(&Endpoint {
        addresses: vec![ip.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(ready),
            serving: None,
            terminating: None,
        }),
        hostname: address.hostname.clone().filter(|hostname| !hostname.is_empty()),
        node_name: address.node_name.clone(),
        target_ref: address.target_ref.clone(),
        ..Endpoint::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The endpoints as `address ready ports`, sorted.
    fn mirrored(subsets: &Value, max: usize) -> Vec<String> {
        let endpoints: Endpoints = serde_json::from_value(json!({"subsets": subsets})).unwrap();
        let mut lines: Vec<_> = super::mirrored_endpoints(&endpoints, max)
            .iter()
            .map(|desired| {
                let ports: Vec<_> = desired
                    .ports
                    .iter()
                    .map(|port| port.number.unwrap().to_string())
                    .collect();
                let ready = if super::super::is_ready(&desired.endpoint) {
                    "ready"
                } else {
                    "not ready"
                };
                format!("{} {ready} {}", desired.endpoint.addresses[0], ports.join("+"))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn m50_to_m54_subsets_are_joined_by_their_addresses() {
        let ready = json!([{"ip": "10.0.0.1"}]);
        let two = json!([
            {"addresses": ready, "ports": [{"name": "a", "port": 80}]},
            {"addresses": ready, "ports": [{"name": "b", "port": 81}]},
            {"addresses": ready},
            {"ports": [{"name": "c", "port": 82}]},
        ]);
        assert_eq!(mirrored(&two, 9), ["10.0.0.1 ready 80+81"]);
        let differently_ready = json!([
            {"addresses": ready, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]},
            {"notReadyAddresses": ready, "ports": [{"name": "b", "port": 81}]},
        ]);
        assert_eq!(
            mirrored(&differently_ready, 9),
            ["10.0.0.1 not ready 81", "10.0.0.1 ready 80"]
        );
    }

    #[test]
    fn m69_ready_addresses_come_first_and_both_families_count() {
        let subsets = json!([{
            "addresses": [{"ip": "fd00::1"}, {"ip": "10.0.0.2"}, {"ip": "127.0.0.1"}],
            "notReadyAddresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.3"}],
            "ports": [{"port": 80}],
        }]);
        assert_eq!(
            mirrored(&subsets, 3),
            ["10.0.0.1 not ready 80", "10.0.0.2 ready 80", "fd00::1 ready 80"]
        );
    }

    #[test]
    fn m63_the_last_of_duplicate_addresses_is_used() {
        let subsets = json!([{
            "addresses": [{"ip": "10.0.0.1"}],
            "notReadyAddresses": [{"ip": "010.0.0.1"}],
            "ports": [{"port": 80}],
        }]);
        assert_eq!(mirrored(&subsets, 9), ["10.0.0.1 not ready 80"]);
    }
}
