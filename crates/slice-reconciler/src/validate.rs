//! Validation of endpoints and labels with the rules of the API server (§25 of `docs/spec/service-slices.md`).
//!
//! One invalid value makes the API server reject the whole write: an invalid endpoint its slice, an invalid port or label all
//! slices of the group or owner. So invalid values are omitted and reported. Only endpoints of slices that are written are
//! validated: the API server has accepted unchanged slices before (R144).

use slice_core::{
    Address, AddressType, EndpointSource,
    limits::{ADDRESSES_PER_ENDPOINT_MAX, LABEL_VALUE_MAX},
    validation::{is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name},
};

use crate::{InvalidEndpoint, InvalidLabel, Rejected};

/// Validates the endpoints of one address type and collects the rejected ones.
#[derive(Debug)]
pub(crate) struct Validator {
    address_type: AddressType,
    pub(crate) rejected: Vec<Rejected>,
}

impl Validator {
    pub(crate) fn new(address_type: AddressType) -> Self {
        Self {
            address_type,
            rejected: Vec::new(),
        }
    }

    /// Whether an endpoint is valid. An invalid one is recorded as rejected.
    pub(crate) fn accept(&mut self, endpoint: &impl EndpointSource) -> bool {
        match validate_endpoint(endpoint, self.address_type) {
            Ok(()) => true,
            Err(reason) => {
                self.reject(endpoint, reason);
                false
            }
        }
    }

    pub(crate) fn reject(&mut self, endpoint: &impl EndpointSource, reason: InvalidEndpoint) {
        self.rejected.push(Rejected::Endpoint {
            address_type: self.address_type,
            endpoint: Box::new(endpoint.to_endpoint()),
            reason,
        });
    }
}

/// Validates addresses (R143, R144), hostname and node name (R146).
fn validate_endpoint(endpoint: &impl EndpointSource, address_type: AddressType) -> Result<(), InvalidEndpoint> {
    validate_addresses(endpoint.addresses(), address_type)?;
    if let Some(hostname) = endpoint.hostname().filter(|hostname| !is_dns1123_label(hostname)) {
        return Err(InvalidEndpoint::Hostname(hostname.to_owned()));
    }
    match endpoint.node_name().filter(|node| !is_dns1123_subdomain(node)) {
        Some(node) => Err(InvalidEndpoint::NodeName(node.to_owned())),
        None => Ok(()),
    }
}

fn validate_addresses(addresses: &[Address], address_type: AddressType) -> Result<(), InvalidEndpoint> {
    match addresses.len() {
        0 => return Err(InvalidEndpoint::NoAddress),
        1..=ADDRESSES_PER_ENDPOINT_MAX => {}
        many => return Err(InvalidEndpoint::TooManyAddresses(many)),
    }
    for address in addresses {
        if address.address_type() != address_type {
            return Err(InvalidEndpoint::WrongType {
                address: address.clone(),
            });
        }
        address.validate().map_err(|reason| InvalidEndpoint::Address {
            address: address.clone(),
            reason,
        })?;
    }
    Ok(())
}

pub(crate) fn validate_label(key: &str, value: &str) -> Result<(), InvalidLabel> {
    if !is_qualified_name(key) {
        Err(InvalidLabel::Key)
    } else if value.len() > LABEL_VALUE_MAX {
        Err(InvalidLabel::TooLong(value.len()))
    } else if !is_label_value(value) {
        Err(InvalidLabel::Value(value.to_owned()))
    } else {
        Ok(())
    }
}
