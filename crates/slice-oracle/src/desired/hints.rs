//! Hints: which mechanism applies, and what traffic distribution asks for (R94, H7–H9, H57).

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, ForNode, ForZone};

use super::is_ready;
use crate::object::annotation;
use crate::well_known::{TOPOLOGY_HINTS, TOPOLOGY_MODE};

/// How the endpoints of a Service get hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// They get none.
    None,
    /// Each its own zone.
    SameZone,
    /// Each its own zone and its own node.
    SameNode,
    /// Zones by the CPUs in them.
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

/// The hints of an endpoint that stands for itself, that is under every mechanism but Auto. What is not ready has none.
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
