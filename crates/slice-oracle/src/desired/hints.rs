//! Hint mechanism of a Service, and the hints of traffic distribution (R94, H7–H9, H57).

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, ForNode, ForZone};

use super::is_ready;
use crate::object::annotation;
use crate::well_known::{TOPOLOGY_HINTS, TOPOLOGY_MODE};

/// The hint mechanism of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// No hints.
    None,
    /// The endpoint's own zone.
    SameZone,
    /// The endpoint's own zone and node.
    SameNode,
    /// Zones in proportion to their CPUs.
    Auto,
}

pub(crate) fn mechanism(service: &Service) -> Mechanism {
    let mode = annotation(&service.metadata, TOPOLOGY_HINTS).or(annotation(&service.metadata, TOPOLOGY_MODE));
    if matches!(mode, Some("Auto" | "auto")) {
        return Mechanism::Auto;
    }
    let spec = service.spec.as_ref();
    match spec.and_then(|spec| spec.traffic_distribution.as_deref()) {
        Some("PreferClose" | "PreferSameZone") => Mechanism::SameZone,
        Some("PreferSameNode") => Mechanism::SameNode,
        _ => Mechanism::None,
    }
}

/// Desired hints of an endpoint, except for Auto, which depends on all endpoints. An endpoint that is not ready has
/// none.
pub(crate) fn desired_hints(mechanism: Mechanism, endpoint: &Endpoint) -> Option<EndpointHints> {
    if matches!(mechanism, Mechanism::None | Mechanism::Auto) || !is_ready(endpoint) {
        return None;
    }
    let zone = endpoint.zone.as_ref().filter(|zone| !zone.is_empty());
    let node = endpoint.node_name.as_ref().filter(|_| mechanism == Mechanism::SameNode);
    let hints = EndpointHints {
        for_zones: zone.map(|zone| vec![ForZone { name: zone.clone() }]),
        for_nodes: node.map(|node| vec![ForNode { name: node.clone() }]),
    };
    (zone.is_some() || node.is_some()).then_some(hints)
}
