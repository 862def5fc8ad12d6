//! Validation of IP addresses and CIDR ranges.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{FieldError, path::Path};

/// Parses an address leniently: IPv4 octets may have leading zeros, and an IPv4-mapped IPv6 address (`::ffff:1.2.3.4`) is
/// an IPv4 address.
pub(crate) fn parse_lenient(value: &str) -> Option<IpAddr> {
    let Some((head, tail)) = value.rsplit_once(':') else {
        return parse_ipv4_lenient(value).map(IpAddr::V4);
    };
    let parsed: Ipv6Addr = if tail.contains('.') {
        format!("{head}:{}", parse_ipv4_lenient(tail)?).parse().ok()?
    } else {
        value.parse().ok()?
    };
    Some(parsed.to_canonical())
}

fn parse_ipv4_lenient(value: &str) -> Option<Ipv4Addr> {
    let mut octets = Vec::with_capacity(4);
    for part in value.split('.') {
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        octets.push(part.parse::<u8>().ok()?);
    }
    <[u8; 4]>::try_from(octets).ok().map(Ipv4Addr::from)
}

/// Validates an address in a field that allows non-canonical IPv6. Values of the old object are accepted.
pub(crate) fn validate_ip(path: &Path<'_>, value: &str, old_values: &[&str]) -> Vec<FieldError> {
    if old_values.contains(&value) {
        return Vec::new();
    }
    let message = match (parse_lenient(value), value.parse::<IpAddr>()) {
        (None, _) => "must be an IP address",
        (Some(_), Err(_)) => "may not have leading zeros",
        (Some(_), Ok(exact)) if is_mapped(exact) => "may not be an IPv4 address in IPv6 spelling",
        _ => return Vec::new(),
    };
    vec![FieldError::invalid(path, value, message)]
}

/// Validates an address in a field that requires the canonical form.
pub(crate) fn validate_canonical_ip(path: &Path<'_>, value: &str) -> Vec<FieldError> {
    let errors = validate_ip(path, value, &[]);
    if !errors.is_empty() {
        return errors;
    }
    parse_lenient(value)
        .map(|ip| ip.to_string())
        .filter(|canonical| canonical != value)
        .map(|canonical| FieldError::invalid(path, value, format!("must be written {canonical:?}")))
        .into_iter()
        .collect()
}

/// Validates the address of an endpoint: unspecified, loopback and link-local addresses are invalid.
pub(crate) fn validate_endpoint_ip(path: &Path<'_>, value: &str) -> Vec<FieldError> {
    let Some(ip) = parse_lenient(value) else {
        return vec![FieldError::invalid(
            path,
            value,
            "must be an IP address that traffic can be sent to",
        )];
    };
    let (link_local, link_local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] & 0xff0f == 0xff02),
    };
    [
        (ip.is_unspecified(), "may not be the unspecified address"),
        (ip.is_loopback(), "may not be a loopback address"),
        (link_local, "may not be a link-local address"),
        (link_local_multicast, "may not be a link-local multicast address"),
    ]
    .into_iter()
    .filter(|(invalid, _)| *invalid)
    .map(|(_, message)| FieldError::invalid(path, value, message))
    .collect()
}

/// Validates a CIDR range. Values of the old object are accepted.
pub(crate) fn validate_cidr(path: &Path<'_>, value: &str, old_values: &[&str]) -> Vec<FieldError> {
    if old_values.contains(&value) {
        return Vec::new();
    }
    let message = match parse_cidr_lenient(value) {
        None => "must be an address, a slash and the length of the prefix",
        Some(cidr) if !cidr.exact => "may not have leading zeros",
        Some(cidr) if cidr.mapped => "may not be an IPv4 range in IPv6 spelling",
        Some(cidr) if cidr.has_host_bits() => "may not have bits set after the prefix",
        Some(_) => return Vec::new(),
    };
    vec![FieldError::invalid(path, value, message)]
}

/// Whether the list has addresses of both families.
pub(crate) fn is_dual_stack(families: &[IpAddr]) -> bool {
    families.iter().any(IpAddr::is_ipv4) && families.iter().any(IpAddr::is_ipv6)
}

/// The address part of a CIDR range.
pub(crate) fn cidr_address(value: &str) -> Option<IpAddr> {
    parse_cidr_lenient(value).map(|cidr| cidr.ip)
}

/// A warning about a valid address that is not in canonical form.
pub(crate) fn ip_warning(path: &Path<'_>, value: &str) -> Option<String> {
    let ip = parse_lenient(value)?;
    match value.parse::<IpAddr>() {
        Ok(exact) if !is_mapped(exact) => (exact.is_ipv6() && exact.to_string() != value).then(|| {
            format!(
                "{path}: IPv6 address {value:?} should be written {:?}",
                exact.to_string()
            )
        }),
        _ => Some(format!(
            "{path}: IP address {value:?} is not valid everywhere: write {:?}",
            ip.to_string()
        )),
    }
}

struct Cidr {
    ip: IpAddr,
    prefix: u8,
    /// Whether it has no leading zeros.
    exact: bool,
    /// Whether it is an IPv4-mapped IPv6 range.
    mapped: bool,
}

impl Cidr {
    fn has_host_bits(&self) -> bool {
        match self.ip {
            IpAddr::V4(ip) => ip.to_bits().checked_shl(u32::from(self.prefix)).unwrap_or(0) != 0,
            IpAddr::V6(ip) => ip.to_bits().checked_shl(u32::from(self.prefix)).unwrap_or(0) != 0,
        }
    }
}

fn parse_cidr_lenient(value: &str) -> Option<Cidr> {
    let (address, length) = value.split_once('/')?;
    if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let prefix: u8 = length.parse().ok()?;
    let ip = parse_lenient(address)?;
    let longest = if address.contains(':') { 128 } else { 32 };
    let exact: Option<IpAddr> = address.parse().ok();
    (prefix <= longest).then_some(Cidr {
        ip,
        prefix,
        exact: exact.is_some() && (length == "0" || !length.starts_with('0')),
        mapped: exact.is_some_and(is_mapped),
    })
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path<'static> = Path::new("ip");

    #[test]
    fn address_validation() {
        // value, errors in a lenient field, errors in a canonical field, errors as an endpoint, warnings
        let cases = [
            ("1.2.3.4", 0, 0, 0, 0),
            ("fd00::1234", 0, 0, 0, 0),
            ("FD00:0::1234", 0, 1, 0, 1),
            ("01.02.03.04", 1, 1, 0, 1),
            ("::ffff:1.2.3.4", 1, 1, 0, 1),
            ("::ffff:01.2.3.4", 1, 1, 0, 1),
            ("123.456.789.012", 1, 1, 1, 0),
            ("1.2.3", 1, 1, 1, 0),
            ("", 1, 1, 1, 0),
            ("fe80::1%eth0", 1, 1, 1, 0),
            ("0.0.0.0", 0, 0, 1, 0),
            ("127.3.3.3", 0, 0, 1, 0),
            ("::1", 0, 0, 1, 0),
            ("169.254.1.1", 0, 0, 1, 0),
            ("fe80::1", 0, 0, 1, 0),
            ("224.0.0.7", 0, 0, 1, 0),
            ("224.0.1.7", 0, 0, 0, 0),
            ("ff12::1", 0, 0, 1, 0),
        ];
        for (value, any, canonical, endpoint, warnings) in cases {
            let counts = (
                validate_ip(&PATH, value, &[]).len(),
                validate_canonical_ip(&PATH, value).len(),
                validate_endpoint_ip(&PATH, value).len(),
                usize::from(ip_warning(&PATH, value).is_some()),
            );
            assert_eq!(counts, (any, canonical, endpoint, warnings), "{value}");
        }
        assert_eq!(validate_ip(&PATH, "01.2.3.4", &["01.2.3.4"]), []);
    }

    #[test]
    fn cidr_validation() {
        for (value, errors) in [
            ("10.0.0.0/8", 0),
            ("0.0.0.0/0", 0),
            ("fd00::/64", 0),
            ("1.2.3.4/32", 0),
            ("10.0.0.1/8", 1),
            ("010.0.0.0/8", 1),
            ("10.0.0.0/08", 1),
            ("10.0.0.0/33", 1),
            ("fd00::1/64", 1),
            ("10.0.0.0", 1),
        ] {
            assert_eq!(validate_cidr(&PATH, value, &[]).len(), errors, "{value}");
        }
    }
}
