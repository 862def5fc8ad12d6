//! What is wanted: endpoints that share an address type and ports.

use slice_core::{AddressType, EndpointSet, PortMapKey};

/// Endpoints that belong into slices of one address type with one set of ports (G2).
///
/// A group without endpoints is not the same as no group: its slices are emptied as unwanted endpoints are, not dropped as
/// slices of unknown ports are (G40).
#[derive(Debug)]
pub struct Group<E> {
    /// The type of their addresses.
    pub address_type: AddressType,
    /// Their ports.
    pub ports: PortMapKey,
    /// The endpoints, each identity once.
    pub endpoints: EndpointSet<E>,
}
