//! Services with slices, their pods and address types (R50, R56a, R20).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, Service};

use super::address::{Family, parse};
use crate::object::{Name, is_terminating};
use crate::state::State;

/// Whether the controller manages slices of a Service: it has a selector, is not of type `ExternalName` and is not
/// terminating. Slices of other Services are ignored.
pub(crate) fn is_managed(service: &Service, state: &State<'_>) -> bool {
    let Some(spec) = &service.spec else { return false };
    let selects = spec.selector.as_ref().is_some_and(|selector| !selector.is_empty());
    let namespace = Name::of(&service.metadata).namespace;
    selects
        && spec.type_.as_deref() != Some("ExternalName")
        && !is_terminating(&service.metadata)
        && state.namespace_is_active(namespace)
}

/// Whether a Service selects a pod of its namespace.
pub(crate) fn selects(service: &Service, pod: &Pod) -> bool {
    let spec = service.spec.as_ref();
    let Some(selector) = spec.and_then(|spec| spec.selector.as_ref()) else {
        return false;
    };
    let has = |(key, value)| pod.metadata.labels.as_ref().and_then(|labels| labels.get(key)) == Some(value);
    !selector.is_empty() && selector.iter().all(has)
}

/// The address types of a Service.
pub(crate) fn families(service: &Service) -> BTreeSet<Family> {
    let Some(spec) = &service.spec else {
        return BTreeSet::new();
    };
    let named = spec.ip_families.as_deref().unwrap_or_default();
    let named: BTreeSet<_> = named.iter().filter_map(|name| Family::named(name)).collect();
    if !named.is_empty() {
        return named;
    }
    match spec.cluster_ip.as_deref() {
        None | Some("" | "None") => Family::BOTH.into(),
        Some(address) => [parse(address).map_or(Family::V4, Family::of)].into(),
    }
}
