//! Groups: desired endpoints that share an address type and ports.

use slice_core::{AddressType, EndpointSet, PortMapKey};

/// Desired endpoints of one address type with one set of ports (G2).
///
/// A group without endpoints differs from a missing group: its slices are processed like any group's, which removes their
/// endpoints, while slices with undesired ports are deleted (G40).
#[derive(Debug)]
pub struct Group<E> {
    /// The address type of the endpoints.
    pub address_type: AddressType,
    /// The ports of the endpoints.
    pub ports: PortMapKey,
    /// The endpoints, each identity once.
    pub endpoints: EndpointSet<E>,
}
