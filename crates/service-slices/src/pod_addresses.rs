//! The addresses of a pod: those that can be published, by family, and those that cannot.

use std::sync::Arc;

use slice_core::{Address, AddressType, Unpublishable, limits::ADDRESSES_PER_ENDPOINT_MAX};
use smallvec::SmallVec;

/// The addresses of a pod, read once and kept in the order in which they are published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAddresses {
    /// IPv4 before IPv6, each sorted as text (R61). Room for two, so that a dual-stack pod needs no allocation.
    published: SmallVec<[Address; 2]>,
    /// Whether each is an endpoint of its own.
    apart: bool,
    refused: Box<[RefusedAddress]>,
}

/// An address of a pod that no slice may hold: one of them would make its whole slice unwritable (W23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAddress {
    /// As the pod has it.
    pub text: Arc<str>,
    /// Its family, if it is an IP address.
    pub address_type: Option<AddressType>,
    /// What is wrong with it.
    pub problem: AddressProblem,
}

/// Why an address of a pod is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// It cannot be read.
    #[error("it is not an IP address")]
    NotAnIp,
    /// The API server refuses it.
    #[error("{0}")]
    Unpublishable(Unpublishable),
    /// The pod has as many addresses of this family already as an endpoint may have.
    #[error("an endpoint has at most {ADDRESSES_PER_ENDPOINT_MAX} addresses")]
    TooMany,
}

impl PodAddresses {
    /// Reads `status.podIPs` (R60). All addresses of a family are one endpoint.
    pub fn read<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut addresses = Self::read_apart(texts);
        addresses.apart = false;
        if addresses.published.len() > ADDRESSES_PER_ENDPOINT_MAX {
            let mut refused = std::mem::take(&mut addresses.refused).into_vec();
            // From the back: taking IPv6 addresses out leaves the IPv4 ones where they are.
            for address_type in [AddressType::IPv6, AddressType::IPv4] {
                addresses.refuse_surplus(address_type, &mut refused);
            }
            addresses.refused = refused.into();
        }
        addresses
    }

    /// Reads addresses from another source than `status.podIPs`: other networks of the pod, or devices (G84). Each address is
    /// an endpoint of its own, because readers look at the first of an endpoint only (G77).
    pub fn read_apart<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut published = SmallVec::new();
        let mut refused = Vec::new();
        for text in texts {
            match read(text) {
                Ok(address) => published.push(address),
                Err(address) => refused.push(address),
            }
        }
        published.sort_by(|a: &Address, b: &Address| {
            let by_text = || a.to_string().cmp(&b.to_string());
            a.address_type().cmp(&b.address_type()).then_with(by_text)
        });
        Self {
            published,
            apart: true,
            refused: refused.into(),
        }
    }

    /// Those of one family, by endpoint.
    pub fn endpoints(&self, address_type: AddressType) -> impl Iterator<Item = &[Address]> {
        let together = if self.apart { 1 } else { usize::MAX };
        self.of(address_type).chunks(together)
    }

    /// Those of one family.
    #[must_use]
    pub fn of(&self, address_type: AddressType) -> &[Address] {
        let (v4, v6) = self.published.split_at(self.v4_count());
        match address_type {
            AddressType::IPv4 => v4,
            AddressType::IPv6 => v6,
            AddressType::Fqdn => &[],
        }
    }

    /// Those that cannot be published.
    #[must_use]
    pub fn refused(&self) -> &[RefusedAddress] {
        &self.refused
    }

    fn v4_count(&self) -> usize {
        self.published
            .partition_point(|address| matches!(address, Address::V4(_)))
    }

    fn refuse_surplus(&mut self, address_type: AddressType, refused: &mut Vec<RefusedAddress>) {
        let count = self.of(address_type).len();
        let start = match address_type {
            AddressType::IPv4 => 0,
            AddressType::IPv6 | AddressType::Fqdn => self.v4_count(),
        };
        let surplus = start + count.min(ADDRESSES_PER_ENDPOINT_MAX)..start + count;
        refused.extend(self.published.drain(surplus).map(|address| RefusedAddress {
            text: address.to_string().into(),
            address_type: Some(address_type),
            problem: AddressProblem::TooMany,
        }));
    }
}

fn read(text: &str) -> Result<Address, RefusedAddress> {
    let refused = |address_type, problem| RefusedAddress {
        text: text.into(),
        address_type,
        problem,
    };
    let address = Address::parse_ip(text).ok_or_else(|| refused(None, AddressProblem::NotAnIp))?;
    match address.publishable() {
        Ok(()) => Ok(address),
        Err(why) => Err(refused(
            Some(address.address_type()),
            AddressProblem::Unpublishable(why),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(addresses: &[Address]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn r60_r61_addresses_of_a_family_are_together_and_sorted_as_text() {
        let addresses = PodAddresses::read(["fd00::1", "10.0.0.9", "10.0.0.10", "fd00:0::00:10", "10.0.0.2"]);
        assert_eq!(
            printed(addresses.of(AddressType::IPv4)),
            ["10.0.0.10", "10.0.0.2", "10.0.0.9"]
        );
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1", "fd00::10"]);
        assert_eq!(addresses.of(AddressType::Fqdn), []);
        assert_eq!(addresses.refused(), []);
    }

    /// G-25, W23: what cannot be published is named, the rest is kept.
    #[test]
    fn g25_what_cannot_be_published_is_named() {
        let addresses = PodAddresses::read(["::ffff:1.2.3.4", "010.0.0.1", "garbage", "169.254.1.1", "fe80::1%eth0"]);
        assert_eq!(printed(addresses.of(AddressType::IPv4)), ["1.2.3.4", "10.0.0.1"]);
        let refused = |text: &str, address_type, problem| RefusedAddress {
            text: text.into(),
            address_type,
            problem,
        };
        let link_local = AddressProblem::Unpublishable(Unpublishable::LinkLocal);
        assert_eq!(
            addresses.refused(),
            [
                refused("garbage", None, AddressProblem::NotAnIp),
                refused("169.254.1.1", Some(AddressType::IPv4), link_local),
                refused("fe80::1%eth0", None, AddressProblem::NotAnIp),
            ]
        );
    }

    /// R143.
    #[test]
    fn an_endpoint_gets_no_more_addresses_than_the_api_server_takes() {
        let texts: Vec<String> = (0..101).map(|i| format!("10.0.0.{i}")).collect();
        let with_v6 = texts.iter().map(String::as_str).chain(["fd00::1"]);
        let addresses = PodAddresses::read(with_v6);
        assert_eq!(addresses.of(AddressType::IPv4).len(), 100);
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1"]);
        let refused = addresses
            .refused()
            .iter()
            .map(|refused| (&*refused.text, refused.problem));
        assert_eq!(
            refused.collect::<Vec<_>>(),
            [("10.0.0.99", AddressProblem::TooMany)],
            "the last as text"
        );
    }
}
