//! What the API server would refuse, found before it is asked (§25 of `docs/spec/service-slices.md`).
//!
//! One thing that is refused takes everything down that is written with it: an endpoint its slice, a port or a label all slices
//! of the group or owner. So it is left out before, and named. Endpoints are looked at only when they come into a slice or their
//! slice is written: what is stored as it should be was accepted once, and its list is not looked at again (R144).

use slice_core::{
    Address, AddressType, EndpointSource,
    limits::{ADDRESSES_PER_ENDPOINT_MAX, LABEL_VALUE_MAX},
    spelling::{is_dns_label, is_dns_name, is_label_value, is_qualified_name},
};

use crate::{EndpointProblem, LabelProblem, LeftOut};

/// Endpoints that slices of one type would not be accepted with.
#[derive(Debug)]
pub(crate) struct Sieve {
    address_type: AddressType,
    pub(crate) left_out: Vec<LeftOut>,
}

impl Sieve {
    pub(crate) fn new(address_type: AddressType) -> Self {
        Self {
            address_type,
            left_out: Vec::new(),
        }
    }

    /// Whether an endpoint may be published; if not, it is noted.
    pub(crate) fn passes(&mut self, wanted: &impl EndpointSource) -> bool {
        match endpoint(wanted, self.address_type) {
            Ok(()) => true,
            Err(why) => {
                self.leave_out(wanted, why);
                false
            }
        }
    }

    pub(crate) fn leave_out(&mut self, wanted: &impl EndpointSource, why: EndpointProblem) {
        self.left_out.push(LeftOut::Endpoint {
            address_type: self.address_type,
            endpoint: Box::new(wanted.to_endpoint()),
            why,
        });
    }
}

/// R143, R144, R146.
fn endpoint(endpoint: &impl EndpointSource, address_type: AddressType) -> Result<(), EndpointProblem> {
    addresses(endpoint.addresses(), address_type)?;
    if let Some(hostname) = endpoint.hostname().filter(|hostname| !is_dns_label(hostname)) {
        return Err(EndpointProblem::Hostname(hostname.to_owned()));
    }
    match endpoint.node_name().filter(|node| !is_dns_name(node)) {
        Some(node) => Err(EndpointProblem::NodeName(node.to_owned())),
        None => Ok(()),
    }
}

fn addresses(addresses: &[Address], address_type: AddressType) -> Result<(), EndpointProblem> {
    match addresses.len() {
        0 => return Err(EndpointProblem::NoAddress),
        1..=ADDRESSES_PER_ENDPOINT_MAX => {}
        many => return Err(EndpointProblem::TooManyAddresses(many)),
    }
    for address in addresses {
        if address.address_type() != address_type {
            return Err(EndpointProblem::WrongType {
                address: address.clone(),
            });
        }
        address.publishable().map_err(|why| EndpointProblem::Address {
            address: address.clone(),
            why,
        })?;
    }
    Ok(())
}

pub(crate) fn label(key: &str, value: &str) -> Result<(), LabelProblem> {
    if !is_qualified_name(key) {
        Err(LabelProblem::Key)
    } else if value.len() > LABEL_VALUE_MAX {
        Err(LabelProblem::TooLong(value.len()))
    } else if !is_label_value(value) {
        Err(LabelProblem::Value(value.to_owned()))
    } else {
        Ok(())
    }
}
