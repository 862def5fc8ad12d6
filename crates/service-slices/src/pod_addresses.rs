//! Addresses of a pod, by IP family, and the rejected ones.

use std::sync::Arc;

use slice_core::{Address, AddressType, InvalidAddress, limits::ADDRESSES_PER_ENDPOINT_MAX};

/// Addresses of a pod, parsed once and sorted as text, the order in which they are published (R61).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAddresses {
    /// The IPv4 address, in the common case.
    v4: Option<Address>,
    /// All addresses, in any other case.
    irregular: Option<Box<Irregular>>,
    /// The IPv6 address, in the common case.
    v6: Option<Address>,
}

/// Addresses of a pod that has several of a family, or rejected ones. Rare, hence boxed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Irregular {
    v4: Vec<Address>,
    v6: Vec<Address>,
    /// Whether each address is an endpoint of its own.
    separate: bool,
    rejected: Vec<RejectedAddress>,
}

/// An address of a pod that no slice may contain. The API server would reject the whole slice (W23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedAddress {
    /// The address, as in the pod.
    pub text: Arc<str>,
    /// Its address type, if it can be determined from the text.
    pub address_type: Option<AddressType>,
    /// Why it was rejected.
    pub error: AddressError,
}

/// Why an address of a pod is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be parsed.
    #[error("it is not an IP address")]
    NotAnIp,
    /// The API server rejects it.
    #[error("{0}")]
    InvalidAddress(InvalidAddress),
    /// The pod has more addresses of this family than an endpoint may have.
    #[error("an endpoint has at most {ADDRESSES_PER_ENDPOINT_MAX} addresses")]
    TooMany,
}

impl PodAddresses {
    /// Parses `status.podIPs` (R60). All addresses of a family form one endpoint.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str, IntoIter: Clone>) -> Self {
        let texts = texts.into_iter();
        Self::parse_common(texts.clone()).unwrap_or_else(|| {
            let mut irregular = Irregular::parse(texts);
            for addresses in [&mut irregular.v4, &mut irregular.v6] {
                irregular.rejected.extend(drain_surplus(addresses));
            }
            irregular.into()
        })
    }

    /// Parses addresses from another source than `status.podIPs`, such as secondary networks or devices (G84). Each address
    /// is an endpoint of its own, because consumers use only the first address of an endpoint (G77).
    pub fn parse_separate<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let irregular = Irregular::parse(texts);
        Irregular {
            separate: true,
            ..irregular
        }
        .into()
    }

    /// Parses the common case: at most one address per family, and no rejected one. Returns `None` in any other case.
    fn parse_common<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let (mut v4, mut v6) = (None, None);
        for text in texts {
            let is_first = match parse_address(text) {
                Ok(Address::V4(address)) => v4.replace(address).is_none(),
                Ok(Address::V6(address)) => v6.replace(address).is_none(),
                Ok(Address::Other(_)) | Err(_) => false,
            };
            if !is_first {
                return None;
            }
        }
        Some(Self {
            v4: v4.map(Address::V4),
            v6: v6.map(Address::V6),
            irregular: None,
        })
    }

    /// The addresses of one address type.
    #[must_use]
    pub fn of(&self, address_type: AddressType) -> &[Address] {
        match (address_type, &self.irregular) {
            (AddressType::IPv4, None) => self.v4.as_slice(),
            (AddressType::IPv6, None) => self.v6.as_slice(),
            (AddressType::IPv4, Some(irregular)) => &irregular.v4,
            (AddressType::IPv6, Some(irregular)) => &irregular.v6,
            (AddressType::Fqdn, _) => &[],
        }
    }

    /// Whether each address is an endpoint of its own. Otherwise all addresses of a family form one endpoint.
    #[must_use]
    pub fn one_endpoint_each(&self) -> bool {
        self.irregular.as_ref().is_some_and(|irregular| irregular.separate)
    }

    /// The addresses that cannot be published.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedAddress] {
        self.irregular.as_ref().map_or(&[], |irregular| &irregular.rejected)
    }
}

impl Irregular {
    fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut all = Self::default();
        for text in texts {
            match parse_address(text) {
                Ok(address @ Address::V4(_)) => all.v4.push(address),
                Ok(address) => all.v6.push(address),
                Err((address_type, error)) => all.rejected.push(RejectedAddress {
                    text: text.into(),
                    address_type,
                    error,
                }),
            }
        }
        for addresses in [&mut all.v4, &mut all.v6] {
            addresses.sort_by_cached_key(Address::to_string);
        }
        all
    }
}

impl From<Irregular> for PodAddresses {
    fn from(irregular: Irregular) -> Self {
        Self {
            irregular: Some(Box::new(irregular)),
            ..Self::default()
        }
    }
}

/// Removes the addresses above the maximum of an endpoint.
fn drain_surplus(addresses: &mut Vec<Address>) -> impl Iterator<Item = RejectedAddress> {
    let surplus = addresses.drain(addresses.len().min(ADDRESSES_PER_ENDPOINT_MAX)..);
    surplus.map(|address| RejectedAddress {
        text: address.to_string().into(),
        address_type: Some(address.address_type()),
        error: AddressError::TooMany,
    })
}

/// Whether a text, if it is a valid address, is an IPv6 address and not an IPv4-mapped one. IPv4-mapped addresses start with
/// zeros.
pub(crate) fn looks_like_ipv6(text: &str) -> bool {
    let is_v6_byte = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    text.contains(':') && text.bytes().all(is_v6_byte) && !text.starts_with([':', '0'])
}

/// Parses and validates an address. The error has the address type, if it can be determined from the text.
fn parse_address(text: &str) -> Result<Address, (Option<AddressType>, AddressError)> {
    let Some(address) = Address::parse_ip(text) else {
        let address_type = looks_like_ipv6(text).then_some(AddressType::IPv6);
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
    fn r60_r61_addresses_are_split_by_family_and_sorted_as_text() {
        let addresses = PodAddresses::parse(["fd00::1", "10.0.0.9", "10.0.0.10", "fd00:0::00:10", "10.0.0.2"]);
        assert_eq!(
            printed(addresses.of(AddressType::IPv4)),
            ["10.0.0.10", "10.0.0.2", "10.0.0.9"]
        );
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1", "fd00::10"]);
        assert_eq!(addresses.of(AddressType::Fqdn), []);
        assert_eq!(addresses.rejected(), []);
        let non_canonical = PodAddresses::parse(["::ffff:10.0.0.9", "fd00:0::1"]);
        assert_eq!(non_canonical, PodAddresses::parse(["fd00::1", "10.0.0.9"]));
    }

    /// A text that looks like an IPv6 address is reported for IPv6 only; one that starts with zeros may be an IPv4 address.
    #[test]
    fn address_type_of_a_rejected_address_is_known_if_the_text_reveals_it() {
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
        let rejected = |expected: AddressType| -> Vec<&str> {
            let rejected = addresses.rejected().iter();
            let of_type = rejected.filter(|rejected| rejected.address_type.is_none_or(|of| of == expected));
            of_type.map(|rejected| &*rejected.text).collect()
        };
        assert_eq!(rejected(AddressType::IPv4), ["fd00::1%eth0", "feed"]);
        assert_eq!(
            rejected(AddressType::IPv6),
            ["fd00:::1", "0::1", "fd00::1%eth0", "feed", "cafe1:"]
        );
    }

    /// Invalid addresses are reported, valid ones are published (G-25, W23).
    #[test]
    fn g25_invalid_addresses_are_rejected() {
        let addresses = PodAddresses::parse(["::ffff:1.2.3.4", "010.0.0.1", "garbage", "169.254.1.1", "fe80::1%eth0"]);
        assert_eq!(printed(addresses.of(AddressType::IPv4)), ["1.2.3.4", "10.0.0.1"]);
        let rejected = |text: &str, address_type, error| RejectedAddress {
            text: text.into(),
            address_type,
            error,
        };
        let link_local = AddressError::InvalidAddress(InvalidAddress::LinkLocal);
        assert_eq!(
            addresses.rejected(),
            [
                rejected("garbage", None, AddressError::NotAnIp),
                rejected("169.254.1.1", Some(AddressType::IPv4), link_local),
                rejected("fe80::1%eth0", None, AddressError::NotAnIp),
            ]
        );
    }

    /// Addresses above the limit of the API server are rejected (R143).
    #[test]
    fn surplus_addresses_are_rejected() {
        let texts: Vec<String> = (0..101).map(|i| format!("10.0.0.{i}")).collect();
        let with_v6 = texts.iter().map(String::as_str).chain(["fd00::1"]);
        let addresses = PodAddresses::parse(with_v6);
        assert_eq!(addresses.of(AddressType::IPv4).len(), 100);
        assert_eq!(printed(addresses.of(AddressType::IPv6)), ["fd00::1"]);
        let rejected = addresses
            .rejected()
            .iter()
            .map(|rejected| (&*rejected.text, rejected.error));
        assert_eq!(
            rejected.collect::<Vec<_>>(),
            [("10.0.0.99", AddressError::TooMany)],
            "the last one in text order"
        );
    }
}
