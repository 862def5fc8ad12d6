//! Endpoint addresses in canonical form: equal values are equal addresses.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::{AddressType, validation::is_fqdn};

/// The addresses of an endpoint. A single address, the common case, is stored inline.
pub type Addresses = SmallVec<[Address; 1]>;

/// One address of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address; IPv4-mapped addresses are `V4`.
    V6(Ipv6Addr),
    /// Any other text, unchanged: a domain name, or a non-canonical IP address of an existing slice.
    Other(Arc<str>),
}

impl Address {
    /// Parses an IP address as leniently as Kubernetes does: leading zeros are decimal, an IPv4-mapped IPv6 address is IPv4,
    /// a zone (`%eth0`) is invalid (R60, M58–M60).
    #[must_use]
    pub fn parse_ip(text: &str) -> Option<Self> {
        let address = text.parse().ok().or_else(|| parse_with_leading_zeros(text));
        address.map(Self::from)
    }

    /// Parses an address of an existing slice. Only the canonical form becomes an IP address: any other form differs from
    /// the desired one, so that it is replaced.
    #[must_use]
    pub fn from_canonical(text: &str) -> Self {
        let address = text.parse().map(|ip: IpAddr| Self::from(ip));
        match address {
            // std accepts only the canonical form of an IPv4 address.
            Ok(address @ Self::V4(_)) if !text.contains(':') => address,
            Ok(address @ Self::V6(_)) if address.to_string() == text => address,
            _ => Self::Other(text.into()),
        }
    }

    /// The address type of slices with this address.
    #[must_use]
    pub fn address_type(&self) -> AddressType {
        match self {
            Self::V4(_) => AddressType::IPv4,
            Self::V6(_) => AddressType::IPv6,
            Self::Other(_) => AddressType::Fqdn,
        }
    }

    /// Validates the address as the API server does (R144). One invalid address makes the API server reject the whole slice,
    /// so skip it before (W23).
    #[inline]
    pub fn validate(&self) -> Result<(), InvalidAddress> {
        let error = match self {
            Self::V4(address) => v4_error(*address),
            Self::V6(address) => v6_error(*address),
            Self::Other(text) => (!is_fqdn(text)).then_some(InvalidAddress::NotADomainName),
        };
        error.map_or(Ok(()), Err)
    }
}

/// Why the API server rejects an address in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum InvalidAddress {
    /// `0.0.0.0` or `::`.
    #[error("it is the unspecified address")]
    Unspecified,
    /// `127.0.0.0/8` or `::1`.
    #[error("it is a loopback address")]
    Loopback,
    /// `169.254.0.0/16` or `fe80::/10`.
    #[error("it is a link-local address")]
    LinkLocal,
    /// `224.0.0.0/24` or `ff02::/16`.
    #[error("it is a link-local multicast address")]
    LinkLocalMulticast,
    /// Neither an IP address nor a domain name of two labels or more.
    #[error("it is not a domain name of two labels or more")]
    NotADomainName,
}

fn v4_error(address: Ipv4Addr) -> Option<InvalidAddress> {
    if address.is_unspecified() {
        Some(InvalidAddress::Unspecified)
    } else if address.is_loopback() {
        Some(InvalidAddress::Loopback)
    } else if address.is_link_local() {
        Some(InvalidAddress::LinkLocal)
    } else {
        matches!(address.octets(), [224, 0, 0, _]).then_some(InvalidAddress::LinkLocalMulticast)
    }
}

fn v6_error(address: Ipv6Addr) -> Option<InvalidAddress> {
    if address.is_unspecified() {
        Some(InvalidAddress::Unspecified)
    } else if address.is_loopback() {
        Some(InvalidAddress::Loopback)
    } else if address.is_unicast_link_local() {
        Some(InvalidAddress::LinkLocal)
    } else {
        (address.segments()[0] & 0xff0f == 0xff02).then_some(InvalidAddress::LinkLocalMulticast)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6(address),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => address.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// Parses IP addresses with extra leading zeros in octets or groups, which Kubernetes accepts and std does not.
fn parse_with_leading_zeros(text: &str) -> Option<IpAddr> {
    let separator = text.find(['.', ':'])?;
    let mut trimmed = String::with_capacity(text.len());
    for part in text.split_inclusive(['.', ':']) {
        let digits = part.trim_end_matches(['.', ':']);
        let significant = digits.trim_start_matches('0');
        // A group of zeros is a zero; an empty group is part of `::` and stays empty.
        if significant.is_empty() && !digits.is_empty() {
            trimmed.push('0');
        }
        trimmed.push_str(significant);
        trimmed.push_str(&part[digits.len()..]);
    }
    if text[separator..].starts_with('.') {
        trimmed.parse().map(IpAddr::V4).ok()
    } else {
        trimmed.parse().map(IpAddr::V6).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leading zeros, IPv4-mapped addresses and upper case are accepted (T-MIR-N11, G-25, service-slices.md §21, 24).
    #[test]
    fn r60_ip_addresses_are_parsed_leniently_and_formatted_canonically() {
        for (text, expected) in [
            ("10.1.2.3", Some("10.1.2.3")),
            ("010.001.000.009", Some("10.1.0.9")),
            ("0000010.1.2.3", Some("10.1.2.3")),
            ("::ffff:10.1.2.3", Some("10.1.2.3")),
            ("::ffff:010.1.2.3", Some("10.1.2.3")),
            ("::FFFF:0a01:0203", Some("10.1.2.3")),
            ("2001:DB8:0:0:0:0:0:A", Some("2001:db8::a")),
            ("2001:00000db8::0", Some("2001:db8::")),
            ("::", Some("::")),
            ("1::", Some("1::")),
            ("fe80::1%eth0", None),
            ("10.0.0.1/32", None),
            ("10.0.0", None),
            ("10.0.0.256", None),
            ("10.0.0.1.", None),
            ("10..0.1", None),
            ("1:2:3:4:5:6:7:8:9", None),
            ("1::2::3", None),
            (":1", None),
            ("+1.2.3.4", None),
            (" 1.2.3.4", None),
            ("[::1]", None),
            ("garbage", None),
            ("12345", None),
            ("", None),
        ] {
            let formatted = Address::parse_ip(text).map(|address| address.to_string());
            assert_eq!(formatted.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn non_canonical_address_of_a_slice_is_kept_as_text() {
        for canonical in ["10.1.2.3", "2001:db8::a", "::"] {
            assert_eq!(Some(Address::from_canonical(canonical)), Address::parse_ip(canonical));
        }
        for text in [
            "010.1.2.3",
            "2001:DB8::a",
            "2001:db8:0::a",
            "::ffff:10.1.2.3",
            "example.com",
        ] {
            let address = Address::from_canonical(text);
            assert_eq!(address, Address::Other(text.into()));
            assert_eq!(address.to_string(), text);
        }
    }

    /// The API server rejects these addresses (R144, W23, G-25).
    #[test]
    fn addresses_are_validated_like_the_api_server_does() {
        for (text, expected) in [
            ("10.0.0.1", Ok(())),
            ("fd00::1", Ok(())),
            ("224.0.1.1", Ok(())),
            ("ff05::1", Ok(())),
            ("0.0.0.0", Err(InvalidAddress::Unspecified)),
            ("::", Err(InvalidAddress::Unspecified)),
            ("127.9.9.9", Err(InvalidAddress::Loopback)),
            ("::1", Err(InvalidAddress::Loopback)),
            ("169.254.1.1", Err(InvalidAddress::LinkLocal)),
            ("fe80::1", Err(InvalidAddress::LinkLocal)),
            ("224.0.0.7", Err(InvalidAddress::LinkLocalMulticast)),
            ("ff02::1", Err(InvalidAddress::LinkLocalMulticast)),
            ("ff12::1", Err(InvalidAddress::LinkLocalMulticast)),
        ] {
            assert_eq!(Address::parse_ip(text).unwrap().validate(), expected, "{text}");
        }
        for (text, expected) in [
            ("db.example.com", Ok(())),
            ("db.example.com.", Ok(())),
            ("db", Err(InvalidAddress::NotADomainName)),
            ("10.0.0", Ok(())),
            ("fe80::1%eth0", Err(InvalidAddress::NotADomainName)),
            ("", Err(InvalidAddress::NotADomainName)),
        ] {
            assert_eq!(Address::from_canonical(text).validate(), expected, "{text}");
        }
    }

    #[test]
    fn address_has_an_address_type() {
        let address_type = |text| Address::from_canonical(text).address_type();
        assert_eq!(address_type("10.0.0.1"), AddressType::IPv4);
        assert_eq!(address_type("fd00::1"), AddressType::IPv6);
        assert_eq!(address_type("example.com"), AddressType::Fqdn);
    }
}
