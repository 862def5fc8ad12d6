//! Desired endpoints of a pod (service-slices.md §9).

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Node, ObjectReference, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions};

use super::address::{Family, parse_publishable};
use super::{DesiredEndpoint, families, is_managed, port, selects};
use crate::object::{is_terminating, label};
use crate::state::State;
use crate::well_known::ZONE;

/// Desired endpoints of a pod in a Service's slices: at most one per address type.
pub(crate) fn endpoints(service: &Service, pod: &Pod, state: &State<'_>) -> Vec<DesiredEndpoint> {
    if !is_managed(service, state) || !selects(service, pod) || is_terminal(pod) {
        return Vec::new();
    }
    let node_name = node_name(pod);
    let node = node_name.and_then(|name| state.nodes.get(name)).copied();
    // A pod on an unknown node is only published with publishNotReadyAddresses (W10).
    if node.is_none() && !publishes_not_ready(service) {
        return Vec::new();
    }
    let addresses = addresses(pod);
    let of = |family| -> Option<DesiredEndpoint> {
        let addresses: BTreeSet<_> = addresses
            .iter()
            .filter(|address| Family::of(**address) == family)
            .map(IpAddr::to_string)
            .collect();
        (!addresses.is_empty()).then(|| DesiredEndpoint {
            family,
            ports: port::resolve_ports(service, pod),
            endpoint: Endpoint {
                addresses: addresses.into_iter().collect(),
                conditions: Some(conditions(service, pod)),
                hostname: hostname(service, pod),
                node_name: node_name.map(str::to_owned),
                target_ref: Some(target(pod)),
                zone: node.and_then(zone),
                ..Endpoint::default()
            },
        })
    };
    families(service).into_iter().filter_map(of).collect()
}

/// Whether the pod is in a terminal phase (R57).
fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Valid addresses from podIPs (R60).
fn addresses(pod: &Pod) -> Vec<IpAddr> {
    let status = pod.status.as_ref();
    let written = status.and_then(|status| status.pod_ips.as_deref()).unwrap_or_default();
    written
        .iter()
        .filter_map(|written| parse_publishable(&written.ip))
        .collect()
}

pub(crate) fn node_name(pod: &Pod) -> Option<&str> {
    let name = pod.spec.as_ref()?.node_name.as_deref();
    name.filter(|name| !name.is_empty())
}

fn publishes_not_ready(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.publish_not_ready_addresses) == Some(true)
}

/// Endpoint conditions of a pod (R58, R59).
fn conditions(service: &Service, pod: &Pod) -> EndpointConditions {
    let status = pod.status.as_ref();
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let serving = ready.is_some_and(|condition| condition.status == "True");
    let terminating = is_terminating(&pod.metadata);
    EndpointConditions {
        ready: Some(publishes_not_ready(service) || (serving && !terminating)),
        serving: Some(serving),
        terminating: Some(terminating),
    }
}

/// The hostname, if the pod's subdomain is the Service (R64).
fn hostname(service: &Service, pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let is_headless_name = spec.subdomain == service.metadata.name && service.metadata.name.is_some();
    let hostname = spec.hostname.as_ref().filter(|hostname| !hostname.is_empty())?;
    is_headless_name.then(|| hostname.clone())
}

/// The target reference to the pod (R62).
fn target(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_owned()),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The zone label of a node (R63).
pub(crate) fn zone(node: &Node) -> Option<String> {
    let zone = label(&node.metadata, ZONE);
    (!zone.is_empty()).then(|| zone.to_owned())
}
