//! What the slices of an Endpoints object should hold (mirroring.md §8–§11).

use std::{num::NonZeroUsize, slice};

use slice_core::{
    Address, AddressType, Conditions, Endpoint, EndpointSet, EndpointSource, Port, PortMapKey, Target, TargetView,
    well_known,
};
use slice_reconciler::Group;

use crate::{
    AddressSkipReason, SkippedEntry, Subsets,
    skipped::SAME_NAME_MAX,
    subsets::{Member, RefusedPort, Source, Subset},
};

/// What is wanted for one Endpoints object, and what of it is not.
#[derive(Debug)]
pub struct Desired<'a> {
    /// For every set of ports one group of each IP family, also where it is empty (M67), and where no slice may have the
    /// ports: a plan names such a group, and spares the slices that hold its endpoints (I4, F25).
    pub groups: Vec<Group<SubsetEndpoint<'a>>>,
    /// Addresses that no group has, over all canonical subsets, invalid ones included (M71).
    pub skipped: usize,
    /// Addresses among them that cannot be published, as far as they were looked at (M70).
    pub invalid: usize,
    /// What the object's author should be told.
    pub events: Vec<Warning>,
    /// Everything that no group has, one by one.
    pub skipped_entries: Vec<SkippedEntry<'a>>,
}

/// A warning about the Endpoints object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The reason, for programs.
    pub reason: &'static str,
    /// The message, for people.
    pub message: String,
}

impl Subsets {
    /// What is wanted, at most `max` addresses of each canonical subset, both families together (M69).
    #[must_use]
    pub fn desired(&self, max: NonZeroUsize) -> Desired<'_> {
        let mut groups = Vec::new();
        let mut skipped_entries: Vec<_> = self.refused.iter().map(SkippedEntry::from).collect();
        for subset in &self.canonical {
            let endpoints = self.endpoints(subset, max, &mut skipped_entries);
            for ports in with_unique_names(&subset.ports, &mut skipped_entries) {
                let ports = PortMapKey::new(ports);
                for address_type in [AddressType::IPv4, AddressType::IPv6] {
                    groups.push(group(address_type, ports.clone(), &endpoints));
                }
            }
        }
        let (skipped, invalid) = count(&skipped_entries);
        Desired {
            groups,
            skipped,
            invalid,
            events: events(skipped, invalid, max),
            skipped_entries,
        }
    }

    /// The endpoints of a subset in the order in which they count against the maximum: ready ones first.
    fn endpoints<'s>(
        &'s self,
        subset: &Subset,
        max: NonZeroUsize,
        skipped_entries: &mut Vec<SkippedEntry<'s>>,
    ) -> Vec<SubsetEndpoint<'s>> {
        let (ready, not_ready): (Vec<Member>, Vec<Member>) = subset.members.iter().partition(|member| member.ready);
        let mut accepted = Vec::with_capacity(subset.members.len().min(max.get()));
        for member in ready.into_iter().chain(not_ready) {
            let source = &self.sources[member.source];
            let reason = match source.refused {
                _ if accepted.len() >= max.get() => AddressSkipReason::LimitExceeded,
                None => {
                    accepted.push(SubsetEndpoint {
                        source,
                        ready: member.ready,
                    });
                    continue;
                }
                Some(reason) => reason,
            };
            skipped_entries.push(SkippedEntry::Address {
                address: &source.address,
                reason,
            });
        }
        accepted
    }
}

impl<'a> From<&'a RefusedPort> for SkippedEntry<'a> {
    fn from(port: &'a RefusedPort) -> Self {
        Self::Port {
            name: &port.name,
            number: port.number,
        }
    }
}

/// An address of an Endpoints object as an endpoint: of the conditions only `ready`, no zone and no hints (M62).
#[derive(Clone, Copy, Debug)]
pub struct SubsetEndpoint<'a> {
    source: &'a Source,
    ready: bool,
}

impl EndpointSource for SubsetEndpoint<'_> {
    fn addresses(&self) -> &[Address] {
        slice::from_ref(&self.source.address)
    }

    fn conditions(&self) -> Conditions {
        Conditions {
            ready: Some(self.ready),
            ..Conditions::default()
        }
    }

    fn hostname(&self) -> Option<&str> {
        self.source.hostname.as_deref()
    }

    fn node_name(&self) -> Option<&str> {
        self.source.node_name.as_deref()
    }

    fn zone(&self) -> Option<&str> {
        None
    }

    fn target(&self) -> Option<TargetView<'_>> {
        self.source.target.as_ref().map(Target::view)
    }

    fn to_endpoint(&self) -> Endpoint {
        Endpoint {
            addresses: self.addresses().into(),
            conditions: self.conditions(),
            hostname: self.source.hostname.clone(),
            node_name: self.source.node_name.clone(),
            target: self.source.target.clone(),
            ..Endpoint::default()
        }
    }
}

/// Ports for as few slices as possible, so that in none of them two have the same name: Endpoints may, a slice may not (D3).
/// Expects ports in order.
fn with_unique_names<'a>(ports: &'a [Port], skipped_entries: &mut Vec<SkippedEntry<'a>>) -> Vec<Vec<Port>> {
    let mut slices = vec![Vec::new()];
    for same_name in ports.chunk_by(|a, b| a.name == b.name) {
        let (mirrored, beyond) = same_name.split_at(same_name.len().min(SAME_NAME_MAX));
        skipped_entries.extend(beyond.first().map(|port| SkippedEntry::SameName {
            name: &port.name,
            ports: beyond.len(),
        }));
        for (nth, port) in mirrored.iter().enumerate() {
            if nth == slices.len() {
                slices.push(Vec::new());
            }
            slices[nth].push(port.clone());
        }
    }
    slices
}

/// Of endpoints with one identity the last one stays (M63).
fn group<'a>(
    address_type: AddressType,
    ports: PortMapKey,
    endpoints: &[SubsetEndpoint<'a>],
) -> Group<SubsetEndpoint<'a>> {
    let fits = |endpoint: &&SubsetEndpoint<'a>| endpoint.source.address.address_type() == address_type;
    let mut set = EndpointSet::with_capacity(endpoints.iter().filter(fits).count());
    set.extend(endpoints.iter().filter(fits).copied());
    Group {
        address_type,
        ports,
        endpoints: set,
    }
}

/// How many addresses were left out, and how many of them for their own sake.
fn count(skipped_entries: &[SkippedEntry<'_>]) -> (usize, usize) {
    let reasons = skipped_entries
        .iter()
        .filter_map(|skipped_entries| match skipped_entries {
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

/// M75, M76. The second message counts invalid addresses too, as it always has (D11).
fn events(skipped: usize, invalid: usize, max: NonZeroUsize) -> Vec<Warning> {
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
