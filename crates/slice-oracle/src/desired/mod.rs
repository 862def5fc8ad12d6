//! Desired endpoints, derived from the inputs as docs/spec describes; written for clarity, not for speed.

mod address;
mod auto;
mod hints;
mod mirror;
mod pod;
mod port;
mod quantity;
mod service;

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

pub(crate) use self::address::{Family, parse as parse_address};
pub(crate) use self::auto::{NodeInfo, ZoneLimits};
pub(crate) use self::hints::{Mechanism, desired_hints, mechanism};
pub(crate) use self::mirror::{is_mirrored, mirrored_endpoints};
pub(crate) use self::pod::{endpoints, node_name, zone};
pub(crate) use self::port::{Port, ports_of};
pub(crate) use self::service::{families, is_managed, selects};

/// A desired endpoint without hints, with its address type and ports.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DesiredEndpoint {
    pub(crate) family: Family,
    pub(crate) ports: BTreeSet<Port>,
    pub(crate) endpoint: Endpoint,
}

/// An endpoint in canonical form: sorted addresses, without the target's resource version and without hints.
pub(crate) fn normalized(endpoint: &Endpoint) -> Endpoint {
    let mut endpoint = endpoint.clone();
    endpoint.addresses.sort();
    endpoint.deprecated_topology = None;
    endpoint.hints = None;
    if let Some(target) = &mut endpoint.target_ref {
        target.resource_version = None;
    }
    endpoint
}

/// Whether the ready condition of an endpoint is true.
pub(crate) fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true)
}

/// The endpoints of a slice.
pub(crate) fn endpoints_of(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}
