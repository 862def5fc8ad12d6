//! Desired endpoints, groups and labels that the API server would reject.

use std::fmt;

use slice_core::{
    Address, AddressType, Endpoint, InvalidAddress, InvalidPorts, PortMapKey, Target,
    limits::{ADDRESSES_PER_ENDPOINT_MAX, LABEL_VALUE_MAX},
};

/// Part of the desired state that is omitted, because the API server would reject the whole slice with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// An endpoint.
    #[error("{address_type} endpoint{} is rejected: {reason}", Description(endpoint))]
    Endpoint {
        /// The address type of its group.
        address_type: AddressType,
        /// The desired endpoint.
        endpoint: Box<Endpoint>,
        /// Why it is invalid.
        reason: InvalidEndpoint,
    },
    /// A group with invalid ports. Existing slices that hold its endpoints with other ports do not change.
    #[error("{endpoints} {address_type} endpoints are rejected: {reason}")]
    Group {
        /// Its address type.
        address_type: AddressType,
        /// Its ports.
        ports: PortMapKey,
        /// The number of its endpoints.
        endpoints: usize,
        /// Why its ports are invalid.
        reason: InvalidPorts,
    },
    /// An endpoint whose address is no IP address, or of an address type that the owner does not have.
    #[error("endpoint {address:?} is rejected: {}", rejection_reason(*.address_type))]
    Address {
        /// The address as it was given.
        address: String,
        /// Its address type, if it is an IP address.
        address_type: Option<AddressType>,
    },
    /// A label copied from the owner.
    #[error("label {key:?} is rejected: {reason}")]
    Label {
        /// Its key.
        key: String,
        /// Why it is invalid.
        reason: InvalidLabel,
    },
}

/// Why an endpoint is invalid (R143, R144, R146).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    /// It has no address.
    #[error("it has no address")]
    NoAddress,
    /// It has too many addresses.
    #[error("its {0} addresses exceed the limit of {ADDRESSES_PER_ENDPOINT_MAX}")]
    TooManyAddresses(usize),
    /// An address of another type than its group. Text that is no IP address counts as a domain name.
    #[error("{:?} is not an address of that type, or not in its canonical form", address.to_string())]
    WrongType {
        /// The address.
        address: Address,
    },
    /// An address that the API server rejects, such as loopback or link-local.
    #[error("{:?} cannot be published: {reason}", address.to_string())]
    Address {
        /// The address.
        address: Address,
        /// Why it is invalid.
        reason: InvalidAddress,
    },
    /// Its group has more endpoints than the limit; those already published and those sorted before it come first.
    #[error("its group exceeds the limit of {0} endpoints")]
    LimitExceeded(usize),
    /// Its hostname is invalid; an empty one is, an absent one is not.
    #[error("its hostname {0:?} is not a DNS label")]
    Hostname(String),
    /// Its node name is invalid; an empty one is, an absent one is not.
    #[error("its node name {0:?} is not a DNS name")]
    NodeName(String),
}

/// Why a label is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLabel {
    /// The key is not a qualified name.
    #[error("its key is not a qualified name")]
    Key,
    /// The value is too long: [`label_value`](crate::label_value) shortens it (G38).
    #[error("its value of {0} characters exceeds the limit of {LABEL_VALUE_MAX}")]
    TooLong(usize),
    /// The value has characters that are invalid in a label value.
    #[error("its value {0:?} is not a valid label value")]
    Value(String),
}

fn rejection_reason(address_type: Option<AddressType>) -> String {
    match address_type {
        Some(address_type) => format!("the owner has no slices of type {address_type}"),
        None => "it is not an IP address".to_owned(),
    }
}

/// Displays the address and the target of an endpoint, each after a space if it is set.
struct Description<'a>(&'a Endpoint);

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = self.0.addresses.first() {
            write!(f, " {:?}", address.to_string())?;
        }
        let Some(target) = self.0.target.as_ref().map(Target::view) else {
            return Ok(());
        };
        f.write_str(" of ")?;
        if let Some(kind) = target.kind() {
            write!(f, "{kind} ")?;
        }
        if let Some(namespace) = target.namespace() {
            write!(f, "{namespace}/")?;
        }
        f.write_str(target.name().unwrap_or_default())
    }
}
