//! Desired endpoints of an Endpoints object (mirroring.md §8–§11).

use std::{num::NonZeroUsize, slice};

use slice_core::{
    Address, AddressType, Conditions, Endpoint, EndpointSet, EndpointSource, Port, PortMapKey, Target, TargetView,
    well_known,
};
use slice_reconciler::Group;

use crate::{
    AddressSkipReason, SkippedEntry, Subsets,
    skipped::SAME_NAME_MAX,
    subsets::{InvalidPort, Member, Subset, SubsetAddress},
};

/// Desired endpoints of one Endpoints object, and the entries that are skipped.
#[derive(Debug)]
pub struct Desired<'a> {
    /// One group per set of ports and IP family, also if it is empty (M67). A group with invalid ports is included: the plan
    /// reports it and keeps the slices that publish its endpoints (I4, F25).
    pub groups: Vec<Group<SubsetEndpoint<'a>>>,
    /// Number of addresses that are in no group, over all canonical subsets, including invalid ones (M71).
    pub skipped_addresses: usize,
    /// Number of skipped addresses that are invalid. Addresses beyond the limit are not validated (M70).
    pub invalid_addresses: usize,
    /// Warning events to record on the Endpoints object.
    pub warnings: Vec<Warning>,
    /// The skipped entries, one by one.
    pub skipped_entries: Vec<SkippedEntry<'a>>,
}

/// A warning event about the Endpoints object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Machine-readable reason of the event.
    pub reason: &'static str,
    /// Message of the event.
    pub message: String,
}

impl Subsets {
    /// Returns the desired endpoints: at most `max` addresses per canonical subset, both families together (M69).
    #[must_use]
    pub fn desired(&self, max: NonZeroUsize) -> Desired<'_> {
        let mut groups = Vec::new();
        let mut skipped_entries: Vec<_> = self.invalid_ports.iter().map(SkippedEntry::from).collect();
        for subset in &self.canonical {
            let endpoints = self.endpoints(subset, max, &mut skipped_entries);
            for ports in split_by_name(&subset.ports, &mut skipped_entries) {
                let ports = PortMapKey::new(ports);
                for address_type in [AddressType::IPv4, AddressType::IPv6] {
                    groups.push(group(address_type, ports.clone(), &endpoints));
                }
            }
        }
        let (skipped_addresses, invalid_addresses) = count_addresses(&skipped_entries);
        Desired {
            groups,
            skipped_addresses,
            invalid_addresses,
            warnings: warnings(skipped_addresses, invalid_addresses, max),
            skipped_entries,
        }
    }

    /// Returns the endpoints of a subset, at most `max`. Ready addresses come first.
    fn endpoints<'s>(
        &'s self,
        subset: &Subset,
        max: NonZeroUsize,
        skipped_entries: &mut Vec<SkippedEntry<'s>>,
    ) -> Vec<SubsetEndpoint<'s>> {
        let (ready, not_ready): (Vec<Member>, Vec<Member>) = subset.members.iter().partition(|member| member.ready);
        let mut accepted = Vec::with_capacity(subset.members.len().min(max.get()));
        for member in ready.into_iter().chain(not_ready) {
            let address = &self.addresses[member.address];
            let reason = match address.invalid {
                _ if accepted.len() >= max.get() => AddressSkipReason::LimitExceeded,
                None => {
                    accepted.push(SubsetEndpoint {
                        address,
                        ready: member.ready,
                    });
                    continue;
                }
                Some(reason) => reason,
            };
            skipped_entries.push(SkippedEntry::Address {
                address: &address.address,
                reason,
            });
        }
        accepted
    }
}

impl<'a> From<&'a InvalidPort> for SkippedEntry<'a> {
    fn from(port: &'a InvalidPort) -> Self {
        Self::Port {
            name: &port.name,
            number: port.number,
        }
    }
}

/// View of an Endpoints address as an endpoint. It has the condition `ready` only, no zone and no hints (M62).
#[derive(Clone, Copy, Debug)]
pub struct SubsetEndpoint<'a> {
    address: &'a SubsetAddress,
    ready: bool,
}

impl EndpointSource for SubsetEndpoint<'_> {
    fn addresses(&self) -> &[Address] {
        slice::from_ref(&self.address.address)
    }

    fn conditions(&self) -> Conditions {
        Conditions {
            ready: Some(self.ready),
            ..Conditions::default()
        }
    }

    fn hostname(&self) -> Option<&str> {
        self.address.hostname.as_deref()
    }

    fn node_name(&self) -> Option<&str> {
        self.address.node_name.as_deref()
    }

    fn zone(&self) -> Option<&str> {
        None
    }

    fn target(&self) -> Option<TargetView<'_>> {
        self.address.target.as_ref().map(Target::view)
    }

    fn to_endpoint(&self) -> Endpoint {
        Endpoint {
            addresses: self.addresses().into(),
            conditions: self.conditions(),
            hostname: self.address.hostname.clone(),
            node_name: self.address.node_name.clone(),
            target: self.address.target.clone(),
            ..Endpoint::default()
        }
    }
}

/// Splits ports into as few lists as possible with unique names: Endpoints may repeat a port name, a slice may not (D3). Ports
/// must be sorted.
fn split_by_name<'a>(ports: &'a [Port], skipped_entries: &mut Vec<SkippedEntry<'a>>) -> Vec<Vec<Port>> {
    let mut lists = vec![Vec::new()];
    for same_name in ports.chunk_by(|a, b| a.name == b.name) {
        let (mirrored, excess) = same_name.split_at(same_name.len().min(SAME_NAME_MAX));
        skipped_entries.extend(excess.first().map(|port| SkippedEntry::SameName {
            name: &port.name,
            ports: excess.len(),
        }));
        for (nth, port) in mirrored.iter().enumerate() {
            if nth == lists.len() {
                lists.push(Vec::new());
            }
            lists[nth].push(port.clone());
        }
    }
    lists
}

/// Builds the group of one address type. Of endpoints with equal identity the last one is used (M63).
fn group<'a>(
    address_type: AddressType,
    ports: PortMapKey,
    endpoints: &[SubsetEndpoint<'a>],
) -> Group<SubsetEndpoint<'a>> {
    let matches_type = |endpoint: &&SubsetEndpoint<'a>| endpoint.address.address.address_type() == address_type;
    let mut set = EndpointSet::with_capacity(endpoints.iter().filter(matches_type).count());
    set.extend(endpoints.iter().filter(matches_type).copied());
    Group {
        address_type,
        ports,
        endpoints: set,
    }
}

/// Returns the number of skipped addresses, and how many of them are invalid.
fn count_addresses(skipped_entries: &[SkippedEntry<'_>]) -> (usize, usize) {
    let reasons = skipped_entries.iter().filter_map(|entry| match entry {
        SkippedEntry::Address { reason, .. } => Some(*reason),
        SkippedEntry::Port { .. } | SkippedEntry::SameName { .. } => None,
    });
    reasons.fold((0, 0), |(skipped, invalid), reason| {
        (
            skipped + 1,
            invalid + usize::from(reason != AddressSkipReason::LimitExceeded),
        )
    })
}

/// Returns the warning events for invalid addresses (M75) and for addresses beyond the limit (M76). As upstream, the second
/// message counts invalid addresses too (D11).
fn warnings(skipped: usize, invalid: usize, max: NonZeroUsize) -> Vec<Warning> {
    let invalid_addresses = (invalid > 0).then(|| Warning {
        reason: well_known::INVALID_IP_ADDRESS,
        message: format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices"),
    });
    let too_many = (skipped > invalid).then(|| Warning {
        reason: well_known::TOO_MANY_ADDRESSES,
        message: format!(
            "A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset. \
             {skipped} addresses were skipped"
        ),
    });
    invalid_addresses.into_iter().chain(too_many).collect()
}

#[cfg(test)]
mod tests;
