//! What the API server would refuse, found before it is asked (§25 of `docs/spec/service-slices.md`).
//!
//! One thing that is refused takes everything down that is written with it: an endpoint its slice, a port or a label all slices
//! of the group or owner. So it is left out before, and named. Endpoints are looked at only when they come into a slice or their
//! slice is written: what is stored as it should be was accepted once, and its list is not looked at again (R144).

use slice_core::{
    Address, AddressType, EndpointSource,
    limits::{ADDRESSES_PER_ENDPOINT_MAX, LABEL_VALUE_MAX},
    validation::{is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name},
};

use crate::{InvalidEndpoint, InvalidLabel, Rejected};

/// Endpoints that slices of one type would not be accepted with.
#[derive(Debug)]
pub(crate) struct Sieve {
    address_type: AddressType,
    pub(crate) rejected: Vec<Rejected>,
}

impl Sieve {
    pub(crate) fn new(address_type: AddressType) -> Self {
        Self {
            address_type,
            rejected: Vec::new(),
        }
    }

    /// Whether an endpoint may be published; if not, it is noted.
    pub(crate) fn passes(&mut self, wanted: &impl EndpointSource) -> bool {
        match endpoint(wanted, self.address_type) {
            Ok(()) => true,
            Err(reason) => {
                self.leave_out(wanted, reason);
                false
            }
        }
    }

    pub(crate) fn leave_out(&mut self, wanted: &impl EndpointSource, reason: InvalidEndpoint) {
        self.rejected.push(Rejected::Endpoint {
            address_type: self.address_type,
            endpoint: Box::new(wanted.to_endpoint()),
            reason,
        });
    }
}

/// R143, R144, R146.
fn endpoint(endpoint: &impl EndpointSource, address_type: AddressType) -> Result<(), InvalidEndpoint> {
    addresses(endpoint.addresses(), address_type)?;
    if let Some(hostname) = endpoint.hostname().filter(|hostname| !is_dns1123_label(hostname)) {
        return Err(InvalidEndpoint::Hostname(hostname.to_owned()));
    }
    match endpoint.node_name().filter(|node| !is_dns1123_subdomain(node)) {
        Some(node) => Err(InvalidEndpoint::NodeName(node.to_owned())),
        None => Ok(()),
    }
}

fn addresses(addresses: &[Address], address_type: AddressType) -> Result<(), InvalidEndpoint> {
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

pub(crate) fn label(key: &str, value: &str) -> Result<(), InvalidLabel> {
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
