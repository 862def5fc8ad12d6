//! The addresses of a pod: those that can be published, by family, and those that cannot.

use std::sync::Arc;

use slice_core::{Address, AddressType, InvalidAddress, limits::ADDRESSES_PER_ENDPOINT_MAX};

/// The addresses of a pod, read once and kept in the order in which they are published: sorted as text (R61).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAddresses {
    /// The one IPv4 address of a pod with nothing unusual about it.
    v4: Option<Address>,
    /// All addresses of any other pod.
    unusual: Option<Box<Unusual>>,
    /// The one IPv6 address of a pod with nothing unusual about it.
    v6: Option<Address>,
}

/// What hardly any pod has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unusual {
    v4: Vec<Address>,
    v6: Vec<Address>,
    /// Each address is an endpoint of its own.
    apart: bool,
    refused: Vec<RejectedAddress>,
}

/// An address of a pod that no slice may hold: one of them would make its whole slice unwritable (W23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedAddress {
    /// As the pod has it.
    pub text: Arc<str>,
    /// Its family, as far as that can be told.
    pub address_type: Option<AddressType>,
    /// What is wrong with it.
    pub problem: AddressError,
}

/// Why an address of a pod is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be read.
    #[error("it is not an IP address")]
    NotAnIp,
    /// The API server refuses it.
    #[error("{0}")]
    InvalidAddress(InvalidAddress),
    /// The pod has as many addresses of this family already as an endpoint may have.
    #[error("an endpoint has at most {ADDRESSES_PER_ENDPOINT_MAX} addresses")]
    TooMany,
}

impl PodAddresses {
    /// Reads `status.podIPs` (R60). All addresses of a family are one endpoint.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str, IntoIter: Clone>) -> Self {
        let texts = texts.into_iter();
        Self::read_usual(texts.clone()).unwrap_or_else(|| {
            let mut unusual = Unusual::read(texts);
            for published in [&mut unusual.v4, &mut unusual.v6] {
                unusual.refused.extend(surplus(published));
            }
            unusual.into()
        })
    }

    /// Reads addresses from another source than `status.podIPs`: other networks of the pod, or devices (G84). Each address is
    /// an endpoint of its own, because readers look at the first of an endpoint only (G77).
    pub fn parse_separate<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let unusual = Unusual::read(texts);
        Unusual { apart: true, ..unusual }.into()
    }

    /// What nearly all pods have: at most one address of each family, and none that cannot be published.
    fn read_usual<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let (mut v4, mut v6) = (None, None);
        for text in texts {
            let is_usual = match read(text) {
                Ok(Address::V4(address)) => v4.replace(address).is_none(),
                Ok(Address::V6(address)) => v6.replace(address).is_none(),
                Ok(Address::Other(_)) | Err(_) => false,
            };
            if !is_usual {
                return None;
            }
        }
        Some(Self {
            v4: v4.map(Address::V4),
            v6: v6.map(Address::V6),
            unusual: None,
        })
    }

    /// Those of one family.
    #[must_use]
    pub fn of(&self, address_type: AddressType) -> &[Address] {
        match (address_type, &self.unusual) {
            (AddressType::IPv4, None) => self.v4.as_slice(),
            (AddressType::IPv6, None) => self.v6.as_slice(),
            (AddressType::IPv4, Some(unusual)) => &unusual.v4,
            (AddressType::IPv6, Some(unusual)) => &unusual.v6,
            (AddressType::Fqdn, _) => &[],
        }
    }

    /// Whether each is an endpoint of its own, and not one together with the others of its family.
    #[must_use]
    pub fn one_endpoint_each(&self) -> bool {
        self.unusual.as_ref().is_some_and(|unusual| unusual.apart)
    }

    /// Those that cannot be published.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedAddress] {
        self.unusual.as_ref().map_or(&[], |unusual| &unusual.refused)
    }
}

impl Unusual {
    fn read<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut all = Self::default();
        for text in texts {
            match read(text) {
                Ok(address @ Address::V4(_)) => all.v4.push(address),
                Ok(address) => all.v6.push(address),
                Err((address_type, problem)) => all.refused.push(RejectedAddress {
                    text: text.into(),
                    address_type,
                    problem,
                }),
            }
        }
        for published in [&mut all.v4, &mut all.v6] {
            published.sort_by_cached_key(Address::to_string);
        }
        all
    }
}

impl From<Unusual> for PodAddresses {
    fn from(unusual: Unusual) -> Self {
        Self {
            unusual: Some(Box::new(unusual)),
            ..Self::default()
        }
    }
}

/// Takes out what is more than an endpoint may have.
fn surplus(published: &mut Vec<Address>) -> impl Iterator<Item = RejectedAddress> {
    let surplus = published.drain(published.len().min(ADDRESSES_PER_ENDPOINT_MAX)..);
    surplus.map(|address| RejectedAddress {
        text: address.to_string().into(),
        address_type: Some(address.address_type()),
        problem: AddressError::TooMany,
    })
}

/// Whether a text, if it is an address at all, is an IPv6 address that is not IPv4-mapped: such a one begins with zeros.
pub(crate) fn is_plainly_v6(text: &str) -> bool {
    let is_v6_byte = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    text.contains(':') && text.bytes().all(is_v6_byte) && !text.starts_with([':', '0'])
}

/// The address, or its family, as far as that can be told, and what is wrong with it.
fn read(text: &str) -> Result<Address, (Option<AddressType>, AddressError)> {
    let Some(address) = Address::parse_ip(text) else {
        let address_type = is_plainly_v6(text).then_some(AddressType::IPv6);
        return Err((address_type, AddressError::NotAnIp));
    };
    match address.validate() {
        Ok(()) => Ok(address),
        Err(reason) => Err((Some(address.address_type()), AddressError::InvalidAddress(reason))),
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
        let addresses = PodAddresses::parse(["fd00::1", "10.0.0.9", "10.0.0.10", "fd00:0::00:10", "10.0.0.2"]);
        assert_eq!(
            printed(addresses.of(AddressType::IPv4)),
            ["10.0.0.10", "10.0.0.2", "10.0.0.9"]
        );
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1", "fd00::10"]);
        assert_eq!(addresses.of(AddressType::Fqdn), []);
        assert_eq!(addresses.rejected(), []);
        let spelled_otherwise = PodAddresses::parse(["::ffff:10.0.0.9", "fd00:0::1"]);
        assert_eq!(spelled_otherwise, PodAddresses::parse(["fd00::1", "10.0.0.9"]));
    }

    /// A text that looks like an IPv6 address concerns IPv6 only; what begins with zeros may still be an IPv4 address.
    #[test]
    fn family_of_a_refused_address_is_known_where_its_form_shows_it() {
        let texts = [
            "fd00::1",
            "fd00:::1",
            "10.0.0.1",
            "::ffff:10.0.0.2",
            "0::1",
            "0:0:0:0:0:FFFF:a00:3",
            "fd00::1%eth0",
            "feed",
            "cafe1:",
        ];
        let addresses = PodAddresses::parse(texts);
        assert_eq!(
            printed(addresses.of(AddressType::IPv4)),
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        );
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1"]);
        let refused = |wanted: AddressType| -> Vec<&str> {
            let refused = addresses.rejected().iter();
            let concern = refused.filter(|refused| refused.address_type.is_none_or(|of| of == wanted));
            concern.map(|refused| &*refused.text).collect()
        };
        assert_eq!(refused(AddressType::IPv4), ["fd00::1%eth0", "feed"]);
        assert_eq!(
            refused(AddressType::IPv6),
            ["fd00:::1", "0::1", "fd00::1%eth0", "feed", "cafe1:"]
        );
    }

    /// G-25, W23: what cannot be published is named, the rest is kept.
    #[test]
    fn g25_what_cannot_be_published_is_named() {
        let addresses = PodAddresses::parse(["::ffff:1.2.3.4", "010.0.0.1", "garbage", "169.254.1.1", "fe80::1%eth0"]);
        assert_eq!(printed(addresses.of(AddressType::IPv4)), ["1.2.3.4", "10.0.0.1"]);
        let refused = |text: &str, address_type, problem| RejectedAddress {
            text: text.into(),
            address_type,
            problem,
        };
        let link_local = AddressError::InvalidAddress(InvalidAddress::LinkLocal);
        assert_eq!(
            addresses.rejected(),
            [
                refused("garbage", None, AddressError::NotAnIp),
                refused("169.254.1.1", Some(AddressType::IPv4), link_local),
                refused("fe80::1%eth0", None, AddressError::NotAnIp),
            ]
        );
    }

    /// R143.
    #[test]
    fn an_endpoint_gets_no_more_addresses_than_the_api_server_takes() {
        let texts: Vec<String> = (0..101).map(|i| format!("10.0.0.{i}")).collect();
        let with_v6 = texts.iter().map(String::as_str).chain(["fd00::1"]);
        let addresses = PodAddresses::parse(with_v6);
        assert_eq!(addresses.of(AddressType::IPv4).len(), 100);
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1"]);
        let refused = addresses
            .rejected()
            .iter()
            .map(|refused| (&*refused.text, refused.problem));
        assert_eq!(
            refused.collect::<Vec<_>>(),
            [("10.0.0.99", AddressError::TooMany)],
            "the last as text"
        );
    }
}
