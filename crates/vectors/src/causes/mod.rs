//! Causes of deviations: properties of the input of a step for which upstream's result differs from ours.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
};

use k8s_openapi::api::{
    core::v1 as api,
    discovery::v1::{Endpoint, EndpointSlice},
};
use mirroring::Subsets;
use service_slices::{NodeState, Pod, PodAddresses, Service};
use slice_core::{
    AddressType, CompactSlice, EndpointSet, EndpointSource, PortMapKey,
    well_known::{MANAGED_BY_LABEL, SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION},
};
use slice_reconciler::Group;

use super::{chain::Step, hints::ZoneRatios};

/// Whether the Service of a step has two address types.
pub(super) fn is_dual_stack(step: &Step) -> bool {
    let service = step.service.as_ref();
    service.is_some_and(|service| Service::from(service).families.address_types().len() > 1)
}

/// Eligible pods.
fn pods(step: &Step) -> impl Iterator<Item = (&api::Pod, Pod)> {
    let pods = step.pods.iter().map(|pod| (pod, Pod::from(pod)));
    pods.filter(|(_, pod)| pod.eligible)
}

fn node<'a>(step: &'a Step, name: &str) -> Option<&'a api::Node> {
    step.nodes
        .iter()
        .find(|node| node.metadata.name.as_deref() == Some(name))
}

/// Upstream fails the sync; we skip the pod until its node is known and publish the others.
pub(super) fn has_pod_on_unknown_node(step: &Step) -> bool {
    pods(step).any(|(_, pod)| node(step, pod.node.as_deref().unwrap_or_default()).is_none())
}

/// Upstream publishes invalid addresses, for which the API server rejects the whole slice. Existing slices may contain them.
pub(super) fn has_invalid_address(step: &Step) -> bool {
    let mut slices = step.existing_slices.iter();
    pods(step).any(|(_, pod)| !pod.addresses.rejected().is_empty()) || slices.any(contains_invalid_address)
}

fn contains_invalid_address(slice: &EndpointSlice) -> bool {
    let mut endpoints = slice.endpoints.iter().flatten();
    slice.address_type != AddressType::Fqdn.as_str()
        && endpoints.any(|endpoint| {
            let addresses = endpoint.addresses.iter().map(String::as_str);
            !PodAddresses::parse(addresses).rejected().is_empty()
        })
}

/// Upstream removes the metadata of other clients from a slice that it reuses. For mirrored slices, both replace annotations.
pub(super) fn has_foreign_metadata(step: &Step) -> bool {
    let mirroring = step.endpoints.is_some();
    let ours = if mirroring { "Endpoints" } else { "Service" };
    step.existing_slices.iter().any(|slice| {
        let mut annotations = slice.metadata.annotations.iter().flatten();
        let owners = slice.metadata.owner_references.as_deref().unwrap_or_default();
        owners.len() > 1
            || owners.iter().any(|owner| owner.kind != ours)
            || (!mirroring && annotations.any(|(key, _)| key != TRIGGER_TIME_ANNOTATION))
    })
}

/// Upstream rewrites every slice on every sync while an endpoint has no zone.
pub(super) fn has_node_without_zone(step: &Step) -> bool {
    let has_zone = |node: &api::Node| service_slices::Node::from(node).zone.is_some();
    pods(step).any(|(_, pod)| !node(step, pod.node.as_deref().unwrap_or_default()).is_some_and(has_zone))
}

/// Upstream keeps the placeholder of a deleted Service with the same name, and rewrites ours while there is a slice of another
/// owner.
pub(super) fn has_placeholder_of_another(step: &Step) -> bool {
    let uid = step
        .service
        .as_ref()
        .and_then(|service| service.metadata.uid.as_deref());
    let is_foreign = |slice: &EndpointSlice| {
        let mut owners = slice.metadata.owner_references.iter().flatten();
        owners.all(|owner| Some(owner.uid.as_str()) != uid)
    };
    step.existing_slices.iter().any(is_placeholder) && step.existing_slices.iter().any(is_foreign)
}

/// Upstream writes an unchanged placeholder if all other slices of the type are deleted.
pub(super) fn has_placeholder_beside_others(step: &Step) -> bool {
    let mut placeholders = step.existing_slices.iter().filter(|slice| is_placeholder(slice));
    placeholders.any(|slice| {
        let of_type = |other: &&EndpointSlice| other.address_type == slice.address_type;
        let has_endpoints = |group: &Group<&slice_core::Endpoint>| {
            group.address_type.as_str() == slice.address_type && !group.endpoints.is_empty()
        };
        step.existing_slices.iter().filter(of_type).count() > 1
            && with_desired(step, |groups| !groups.iter().any(has_endpoints))
    })
}

fn is_placeholder(slice: &EndpointSlice) -> bool {
    slice.endpoints.iter().flatten().next().is_none() && slice.ports.iter().flatten().next().is_none()
}

/// Upstream forgets that a Service has hints when it deletes a slice of an unsupported address type.
pub(super) fn has_slice_of_unsupported_type(step: &Step) -> bool {
    let types = step
        .service
        .as_ref()
        .map_or(&[][..], |service| Service::from(service).families.address_types());
    step.existing_slices
        .iter()
        .any(|slice| types.iter().all(|known| known.as_str() != slice.address_type))
}

/// Upstream keeps stale hints on endpoints that are not ready, and node hints under topology mode Auto.
pub(super) fn has_hints(step: &Step, stale: fn(&Endpoint) -> bool) -> bool {
    let mut endpoints = step
        .existing_slices
        .iter()
        .flat_map(|slice| slice.endpoints.iter().flatten());
    endpoints.any(|endpoint| endpoint.hints.is_some() && stale(endpoint))
}

pub(super) fn has_node_hint(endpoint: &Endpoint) -> bool {
    endpoint
        .hints
        .as_ref()
        .is_some_and(|hints| hints.for_nodes.iter().flatten().next().is_some())
}

/// Upstream never splits a slice above the maximum; we split it when it is written anyway.
pub(super) fn has_slice_above(max: NonZeroUsize, step: &Step) -> bool {
    step.existing_slices
        .iter()
        .any(|slice| slice.endpoints.iter().flatten().count() > max.get())
}

/// Endpoints move between sets of ports of one address type, so that slices exchange endpoints. Upstream orders the writes such
/// that some endpoints are temporarily missing.
pub(super) fn exchanges_endpoints(step: &Step) -> bool {
    let several_of_a_type = |groups: Vec<Group<&slice_core::Endpoint>>| {
        let filled = groups.iter().filter(|group| !group.endpoints.is_empty());
        let types: Vec<AddressType> = filled.map(|group| group.address_type).collect();
        types.len() > BTreeSet::from_iter(&types).len()
    };
    with_desired(step, several_of_a_type) && moves_endpoints_between_ports(step)
}

/// Endpoints are published with other ports than desired.
pub(super) fn moves_endpoints_between_ports(step: &Step) -> bool {
    let existing: Vec<CompactSlice> = step.existing_slices.iter().map(CompactSlice::from).collect();
    let has_other_ports = |slice: &CompactSlice, group: &Group<&slice_core::Endpoint>| {
        let mut existing = slice.endpoints.iter();
        slice.address_type == Ok(group.address_type)
            && slice.ports != group.ports
            && existing.any(|endpoint| group.endpoints.contains(&endpoint))
    };
    with_desired(step, |groups| {
        let mut pairs = existing
            .iter()
            .flat_map(|slice| groups.iter().map(move |group| (slice, group)));
        pairs.any(|(slice, group)| has_other_ports(slice, group))
    })
}

/// Upstream publishes invalid ports, for which the API server rejects the slices.
pub(super) fn has_invalid_ports(step: &Step) -> bool {
    let invalid = |ports: &PortMapKey| ports.validate().is_err();
    ports(&step.existing_slices, None).any(|ports| invalid(&ports))
        || with_desired(step, |groups| groups.iter().any(|group| invalid(&group.ports)))
}

/// Evaluates a predicate on the desired groups of a step.
fn with_desired(step: &Step, predicate: impl FnOnce(Vec<Group<&slice_core::Endpoint>>) -> bool) -> bool {
    if let Some(endpoints) = &step.endpoints {
        let subsets = Subsets::read(endpoints);
        return with_groups(subsets.desired(NonZeroUsize::MAX).groups, predicate);
    }
    let Some(service) = &step.service else {
        return false;
    };
    let pods: Vec<Pod> = pods(step).map(|(_, pod)| pod).collect();
    let nodes: HashMap<&str, service_slices::Node> = step
        .nodes
        .iter()
        .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), node.into()))
        .collect();
    with_groups(
        service_slices::desired(&Service::from(service), &pods, &nodes).groups,
        predicate,
    )
}

/// Evaluates a predicate on groups of any endpoint type.
fn with_groups<E: EndpointSource>(
    groups: Vec<Group<E>>,
    predicate: impl FnOnce(Vec<Group<&slice_core::Endpoint>>) -> bool,
) -> bool {
    let owned = groups.into_iter().map(|group| {
        let endpoints = group.endpoints.into_sorted();
        let endpoints: Vec<_> = endpoints.iter().map(EndpointSource::to_endpoint).collect();
        (group.address_type, group.ports, endpoints)
    });
    let owned: Vec<_> = owned.collect();
    let borrowed = owned.iter().map(|(address_type, ports, endpoints)| {
        let mut set = EndpointSet::default();
        set.extend(endpoints);
        Group {
            address_type: *address_type,
            ports: ports.clone(),
            endpoints: set,
        }
    });
    predicate(borrowed.collect())
}

/// Whether the owner is terminating: no new slices are created for it.
pub(super) fn is_terminating(step: &Step) -> bool {
    let service = step.service.as_ref().map(|service| &service.metadata);
    let owner = step.endpoints.as_ref().map(|endpoints| &endpoints.metadata).or(service);
    owner.is_some_and(|owner| owner.deletion_timestamp.is_some())
}

/// Upstream mistakes a duplicate endpoint of a slice for another desired one, which it then omits.
pub(super) fn has_duplicate_endpoint(step: &Step) -> bool {
    step.existing_slices.iter().any(|slice| {
        let slice = CompactSlice::from(slice);
        let mut distinct = EndpointSet::default();
        distinct.extend(&slice.endpoints);
        distinct.len() < slice.endpoints.len()
    })
}

/// Upstream gives hints to zones without nodes, and rewrites the slices on every sync.
pub(super) fn has_pod_in_zone_without_nodes(step: &Step) -> bool {
    let Some(zones) = ZoneRatios::from_nodes(&step.nodes) else {
        return false;
    };
    pods(step).any(|(_, pod)| {
        let node = node(step, pod.node.as_deref().unwrap_or_default()).map(NodeState::from);
        let zone = node.as_ref().and_then(|node| node.topology_info().zone);
        zone.is_some_and(|zone| !zone.is_empty() && !zones.contains(zone))
    })
}

/// Upstream rewrites slices with too many hints for a zone, even if that does not improve the distribution.
pub(super) fn has_too_many_hints_for_a_zone(step: &Step) -> bool {
    let Some(zones) = ZoneRatios::from_nodes(&step.nodes) else {
        return false;
    };
    [AddressType::IPv4, AddressType::IPv6].into_iter().any(|address_type| {
        let existing = step
            .existing_slices
            .iter()
            .filter(|slice| slice.address_type == address_type.as_str());
        with_desired(step, |groups| {
            let of_type = groups.into_iter().filter(|group| group.address_type == address_type);
            let endpoints = of_type.flat_map(|group| group.endpoints.into_sorted());
            let ready = endpoints
                .filter(|endpoint| endpoint.conditions.ready == Some(true))
                .count();
            zones
                .bounds(ready)
                .is_some_and(|bounds| bounds.are_exceeded_by(existing))
        })
    })
}

/// Upstream mixes up the pending creates of both address types, and the sync fails.
pub(super) fn changes_ports_of_both_families(step: &Step) -> bool {
    let Some(endpoints) = &step.endpoints else {
        return false;
    };
    let subsets = Subsets::read(endpoints);
    let desired = subsets.desired(NonZeroUsize::MAX);
    let new: BTreeSet<AddressType> = desired
        .groups
        .iter()
        .filter(|group| !group.endpoints.is_empty())
        .filter(|group| ports(&step.existing_slices, Some(group.address_type)).all(|ports| ports != group.ports))
        .map(|group| group.address_type)
        .collect();
    new.len() > 1 && !step.existing_slices.is_empty()
}

fn subset_ports(step: &Step) -> impl Iterator<Item = &api::EndpointPort> {
    let subsets = step
        .endpoints
        .iter()
        .flat_map(|endpoints| endpoints.subsets.iter().flatten());
    subsets.flat_map(|subset| subset.ports.iter().flatten())
}

/// Upstream puts two ports of one name into one slice, which the API server rejects.
pub(super) fn has_two_ports_of_one_name(step: &Step) -> bool {
    let mut seen: HashMap<&str, &api::EndpointPort> = HashMap::new();
    subset_ports(step).any(|port| {
        let name = port.name.as_deref().unwrap_or_default();
        seen.insert(name, port).is_some_and(|other| other != port)
    })
}

/// Upstream does not recognize two equal ports with an application protocol as equal.
pub(super) fn repeats_app_protocol(step: &Step) -> bool {
    let mut seen = Vec::new();
    subset_ports(step)
        .filter(|port| port.app_protocol.is_some())
        .any(|port| {
            let repeated = seen.contains(&port);
            seen.push(port);
            repeated
        })
}

/// Upstream writes on every sync if the Endpoints object has a label that slices reserve.
pub(super) fn has_reserved_label(step: &Step) -> bool {
    let labels = step
        .endpoints
        .as_ref()
        .and_then(|endpoints| endpoints.metadata.labels.as_ref());
    labels.is_some_and(|labels| labels.contains_key(SERVICE_NAME_LABEL) || labels.contains_key(MANAGED_BY_LABEL))
}

/// Upstream adopts the slices of a deleted Endpoints object with the same name.
pub(super) fn has_mirror_of_another(step: &Step) -> bool {
    let uid = step
        .endpoints
        .as_ref()
        .and_then(|endpoints| endpoints.metadata.uid.as_deref());
    step.existing_slices.iter().any(|slice| {
        let mut owners = slice.metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.kind == "Endpoints" && Some(owner.uid.as_str()) != uid)
    })
}

/// Upstream's mirroring controller may sync again before its cache has the created slices, if there were none before.
pub(super) fn may_repeat_creates(step: &Step) -> bool {
    step.endpoints.is_some() && step.existing_slices.is_empty()
}

fn ports(slices: &[EndpointSlice], address_type: Option<AddressType>) -> impl Iterator<Item = PortMapKey> {
    let of_type = slices
        .iter()
        .filter(move |slice| address_type.is_none_or(|address_type| slice.address_type == address_type.as_str()));
    of_type.map(|slice| PortMapKey::from_k8s(slice.ports.as_deref()))
}
