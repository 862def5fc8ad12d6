//! Parsing and validation of addresses (R60, M58–M61, W23).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::discovery::v1::EndpointSlice;

/// The address type of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) const BOTH: [Self; 2] = [Self::V4, Self::V6];

    /// The name in slices and Services.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|family| family.name() == name)
    }

    pub(crate) fn of_slice(slice: &EndpointSlice) -> Option<Self> {
        Self::named(&slice.address_type)
    }

    pub(crate) fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// Parses an address leniently: leading zeros are allowed, and an IPv4-mapped IPv6 address is an IPv4 address.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    match text.find(['.', ':']).map(|place| text.as_bytes()[place])? {
        b'.' => parse_v4(text).map(IpAddr::V4),
        _ => parse_v6(text).map(|address| IpAddr::V6(address).to_canonical()),
    }
}

/// Parses an address that a slice may contain.
pub(crate) fn parse_publishable(text: &str) -> Option<IpAddr> {
    parse(text).filter(|address| match address {
        IpAddr::V4(address) => {
            let multicast = matches!(address.octets(), [224, 0, 0, _]);
            !(address.is_unspecified() || address.is_loopback() || address.is_link_local() || multicast)
        }
        IpAddr::V6(address) => {
            let multicast = address.segments()[0] & 0xff0f == 0xff02;
            !(address.is_unspecified() || address.is_loopback() || address.is_unicast_link_local() || multicast)
        }
    })
}

/// Four decimal numbers, leading zeros allowed.
fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let octets: Option<Vec<u8>> = text
        .split('.')
        .map(|octet| {
            let digits = !octet.is_empty() && octet.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| trim_leading_zeros(octet).parse().ok())?
        })
        .collect();
    let octets: [u8; 4] = octets?.try_into().ok()?;
    Some(octets.into())
}

fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    let (groups, last) = text.rsplit_once(':')?;
    let last = if last.contains('.') {
        parse_v4(last)?.to_string()
    } else {
        trim_leading_zeros(last).to_owned()
    };
    let groups: Vec<_> = groups.split(':').map(trim_leading_zeros).collect();
    format!("{}:{last}", groups.join(":")).parse().ok()
}

fn trim_leading_zeros(digits: &str) -> &str {
    let short = digits.trim_start_matches('0');
    if short.is_empty() && !digits.is_empty() {
        "0"
    } else {
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepted address formats (G-25, T-MIR).
    #[test]
    fn addresses_are_parsed_leniently_and_printed_canonically() {
        let cases = [
            ("10.0.0.1", Some("10.0.0.1")),
            ("010.001.000.009", Some("10.1.0.9")),
            ("10.0.0.256", None),
            ("10.0.0", None),
            ("10.0.0.1.", None),
            ("10.0.0.+1", None),
            ("garbage", None),
            ("", None),
            ("2001:DB8:0:0:0:0:0:A", Some("2001:db8::a")),
            ("2001:0000db8::00001", Some("2001:db8::1")),
            ("::ffff:10.1.2.3", Some("10.1.2.3")),
            ("::ffff:010.1.2.3", Some("10.1.2.3")),
            ("fd00::", Some("fd00::")),
            ("::", Some("::")),
            ("fe80::1%eth0", None),
            ("1::2::3", None),
        ];
        for (text, expected) in cases {
            let found = parse(text).map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    /// Addresses that fail API validation (R144, W23).
    #[test]
    fn addresses_that_the_api_server_rejects_are_not_published() {
        for refused in [
            "0.0.0.0",
            "127.0.0.1",
            "169.254.1.1",
            "224.0.0.9",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "ff12::1",
        ] {
            assert_eq!(parse_publishable(refused), None, "{refused}");
        }
        for taken in ["10.0.0.1", "224.0.1.1", "fd00::1", "ff05::1"] {
            assert!(parse_publishable(taken).is_some(), "{taken}");
        }
    }
}
