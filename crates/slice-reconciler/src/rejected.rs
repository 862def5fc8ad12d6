//! What was asked for and cannot be published.

use std::fmt;

use slice_core::{
    Address, AddressType, Endpoint, InvalidAddress, InvalidPorts, PortMapKey, Target,
    limits::{ADDRESSES_PER_ENDPOINT_MAX, LABEL_VALUE_MAX},
};

/// Something that was asked for and that the API server would refuse, with the whole slice it is in. It is left out; the rest
/// goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// An endpoint.
    #[error("{address_type} endpoint{} is left out: {reason}", Named(endpoint))]
    Endpoint {
        /// The type of its group.
        address_type: AddressType,
        /// As it was asked for.
        endpoint: Box<Endpoint>,
        /// What is wrong with it.
        reason: InvalidEndpoint,
    },
    /// A group, for the sake of its ports. Stored slices that hold its endpoints with other ports are left as they are.
    #[error("{endpoints} {address_type} endpoints are left out: {reason}")]
    Group {
        /// Its type.
        address_type: AddressType,
        /// Its ports.
        ports: PortMapKey,
        /// How many endpoints it has.
        endpoints: usize,
        /// What is wrong with its ports.
        reason: InvalidPorts,
    },
    /// An endpoint whose address is no IP address, or of a type that the owner's slices do not have.
    #[error("endpoint {address:?} is left out: {}", address_problem(*.address_type))]
    Address {
        /// The address as it was given.
        address: String,
        /// Its type; none if it is no IP address.
        address_type: Option<AddressType>,
    },
    /// A label that is copied from the owner.
    #[error("label {key:?} is left out: {reason}")]
    Label {
        /// Its key.
        key: String,
        /// What is wrong with it.
        reason: InvalidLabel,
    },
}

/// Why no slice may hold an endpoint (R143, R144, R146).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    /// It is nowhere.
    #[error("it has no address")]
    NoAddress,
    /// It is in too many places.
    #[error("it has {0} addresses, and {ADDRESSES_PER_ENDPOINT_MAX} is the most")]
    TooManyAddresses(usize),
    /// An address of another type than its group; text that could not be read as an IP address is taken for a domain name.
    #[error("{:?} is not an address of that type, or not in its canonical form", address.to_string())]
    WrongType {
        /// The address.
        address: Address,
    },
    /// An address that cannot be reached from elsewhere, or not at all.
    #[error("{:?} cannot be published: {reason}", address.to_string())]
    Address {
        /// The address.
        address: Address,
        /// What is wrong with it.
        reason: InvalidAddress,
    },
    /// Its group has more endpoints than are published, and others were there before it.
    #[error("its group has more than the {0} endpoints that are published")]
    LimitExceeded(usize),
    /// A hostname that is none; empty is no hostname either, while absent is fine.
    #[error("its hostname {0:?} is not a DNS label")]
    Hostname(String),
    /// A node name that is none; empty is no name either, while absent is fine.
    #[error("its node name {0:?} is not a DNS name")]
    NodeName(String),
}

/// Why no object may have a label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLabel {
    /// The key is not a qualified name.
    #[error("its key is not a qualified name")]
    Key,
    /// The value is too long: [`label_value`](crate::label_value) shortens it (G38).
    #[error("its value has {0} characters, and {LABEL_VALUE_MAX} is the most")]
    TooLong(usize),
    /// The value has characters that label values cannot have.
    #[error("its value {0:?} has characters that a label cannot have, or not at its ends")]
    Value(String),
}

fn address_problem(address_type: Option<AddressType>) -> String {
    match address_type {
        Some(address_type) => format!("the owner has no slices of type {address_type}"),
        None => "it is not an IP address".to_owned(),
    }
}

/// How a person would name an endpoint: where it is, and what is behind it. Begins with a space, if there is anything to say.
struct Named<'a>(&'a Endpoint);

impl fmt::Display for Named<'_> {
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
