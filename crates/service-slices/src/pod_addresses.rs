//! The addresses of a pod: those that can be published, by family, and those that cannot.

use std::sync::Arc;

use slice_core::{Address, AddressType, Addresses, Unpublishable, limits::ADDRESSES_PER_ENDPOINT_MAX};

/// The addresses of a pod, read once and kept in the order in which they are published: sorted as text (R61).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PodAddresses {
    v4: Addresses,
    v6: Addresses,
    unusual: Option<Box<Unusual>>,
}

/// What hardly any pod has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unusual {
    /// Each address is an endpoint of its own.
    apart: bool,
    refused: Vec<RefusedAddress>,
}

/// An address of a pod that no slice may hold: one of them would make its whole slice unwritable (W23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAddress {
    /// As the pod has it.
    pub text: Arc<str>,
    /// Its family, as far as that can be told.
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
        let (mut addresses, mut refused) = Self::sorted(texts);
        for published in [&mut addresses.v4, &mut addresses.v6] {
            if published.len() > ADDRESSES_PER_ENDPOINT_MAX {
                refused.extend(surplus(published));
            }
        }
        if !refused.is_empty() {
            addresses.unusual = Some(Box::new(Unusual { apart: false, refused }));
        }
        addresses
    }

    /// Reads `status.podIPs` as far as they concern a Service with addresses of these types.
    pub(crate) fn read_of<'t>(texts: impl IntoIterator<Item = &'t str>, wanted: &[AddressType]) -> Self {
        let concerns_v6 = wanted.contains(&AddressType::IPv6);
        Self::read(texts.into_iter().filter(|text| concerns_v6 || !is_plainly_v6(text)))
    }

    /// Reads addresses from another source than `status.podIPs`: other networks of the pod, or devices (G84). Each address is
    /// an endpoint of its own, because readers look at the first of an endpoint only (G77).
    pub fn read_apart<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let (mut addresses, refused) = Self::sorted(texts);
        addresses.unusual = Some(Box::new(Unusual { apart: true, refused }));
        addresses
    }

    fn sorted<'t>(texts: impl IntoIterator<Item = &'t str>) -> (Self, Vec<RefusedAddress>) {
        let mut addresses = Self::default();
        let mut refused = Vec::new();
        for text in texts {
            match read(text) {
                Ok(address @ Address::V4(_)) => addresses.v4.push(address),
                Ok(address) => addresses.v6.push(address),
                Err(address) => refused.push(address),
            }
        }
        for published in [&mut addresses.v4, &mut addresses.v6] {
            if published.len() > 1 {
                published.sort_by_cached_key(Address::to_string);
            }
        }
        (addresses, refused)
    }

    /// Those of one family.
    #[must_use]
    #[inline]
    pub fn of(&self, address_type: AddressType) -> &[Address] {
        match address_type {
            AddressType::IPv4 => &self.v4,
            AddressType::IPv6 => &self.v6,
            AddressType::Fqdn => &[],
        }
    }

    /// Whether each is an endpoint of its own, and not one together with the others of its family.
    #[must_use]
    pub fn are_apart(&self) -> bool {
        self.unusual.as_ref().is_some_and(|unusual| unusual.apart)
    }

    /// Those that cannot be published.
    #[must_use]
    pub fn refused(&self) -> &[RefusedAddress] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.refused)
    }
}

/// Takes out what is more than an endpoint may have.
fn surplus(published: &mut Addresses) -> impl Iterator<Item = RefusedAddress> {
    let surplus = published.drain(ADDRESSES_PER_ENDPOINT_MAX..);
    surplus.map(|address| RefusedAddress {
        text: address.to_string().into(),
        address_type: Some(address.address_type()),
        problem: AddressProblem::TooMany,
    })
}

/// Whether a text, if it can be read at all, is an IPv6 address that no IPv4 address is hidden in: such a one begins with zeros.
/// Tells far faster than reading it.
fn is_plainly_v6(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    !text.starts_with([':', '0']) && text.as_bytes().contains(&b':') && text.bytes().all(is_plain)
}

fn read(text: &str) -> Result<Address, RefusedAddress> {
    let refused = |address_type, problem| RefusedAddress {
        text: text.into(),
        address_type,
        problem,
    };
    let address = Address::parse_ip(text).ok_or_else(|| {
        let address_type = is_plainly_v6(text).then_some(AddressType::IPv6);
        refused(address_type, AddressProblem::NotAnIp)
    })?;
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

    /// What begins with zeros may still be an IPv4 address, and what is no address at all concerns everybody.
    #[test]
    fn addresses_that_are_plainly_of_another_family_are_not_read() {
        let texts = [
            "fd00::1",
            "fd00:::1",
            "10.0.0.1",
            "::ffff:10.0.0.2",
            "0::1",
            "0:0:0:0:0:FFFF:a00:3",
            "fd00::1%eth0",
        ];
        let addresses = PodAddresses::read_of(texts, &[AddressType::IPv4]);
        assert_eq!(
            printed(addresses.of(AddressType::IPv4)),
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        );
        let refused = |addresses: &PodAddresses, wanted: AddressType| -> Vec<Arc<str>> {
            let refused = addresses.refused().iter();
            let concern = refused.filter(|refused| refused.address_type.is_none_or(|of| of == wanted));
            concern.map(|refused| Arc::clone(&refused.text)).collect()
        };
        let both = PodAddresses::read_of(texts, &[AddressType::IPv4, AddressType::IPv6]);
        assert_eq!(both, PodAddresses::read(texts));
        assert_eq!(printed(both.of(AddressType::IPv6)), ["fd00::1"]);
        for addresses in [&addresses, &both] {
            assert_eq!(refused(addresses, AddressType::IPv4), ["fd00::1%eth0".into()]);
        }
        assert_eq!(
            refused(&both, AddressType::IPv6),
            ["fd00:::1".into(), "0::1".into(), "fd00::1%eth0".into()]
        );
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
