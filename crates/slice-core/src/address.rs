//! Addresses in their canonical form, so that two of them are equal exactly when they mean the same.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use smallvec::SmallVec;

use crate::{AddressType, spelling::is_fqdn};

/// The addresses of an endpoint. Nearly all have one, which then needs no allocation.
pub type Addresses = SmallVec<[Address; 1]>;

/// One address of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address that is not an IPv4 address in disguise.
    V6(Ipv6Addr),
    /// Anything else, byte for byte: a domain name, or what a stored slice holds in another spelling than ours.
    Text(Arc<str>),
}

impl Address {
    /// Reads an IP address as leniently as Kubernetes always has (R60, M58–M60): leading zeros are decimal, an IPv4-mapped
    /// IPv6 address is IPv4, a zone (`%eth0`) is refused.
    #[must_use]
    pub fn parse_ip(text: &str) -> Option<Self> {
        if let Some(address) = Self::parse_v4(text) {
            return Some(Self::V4(address));
        }
        if let Some(address) = parse_canonical_v6(text) {
            return Some(Self::V6(address));
        }
        let v6 = text.parse().map(IpAddr::V6);
        v6.ok().or_else(|| parse_with_leading_zeros(text)).map(Self::from)
    }

    /// Reads an IPv4 address in its canonical spelling: what std takes, in half of its time. Every pod and every stored endpoint
    /// has one.
    #[must_use]
    pub fn parse_v4(text: &str) -> Option<Ipv4Addr> {
        let mut rest = text.as_bytes();
        let mut octets = [0; 4];
        for (place, octet) in octets.iter_mut().enumerate() {
            if place > 0 {
                rest = rest.strip_prefix(b".")?;
            }
            (*octet, rest) = leading_octet(rest)?;
        }
        rest.is_empty().then(|| octets.into())
    }

    /// Reads an address from a stored slice. Only the canonical spelling becomes an IP address: any other is not what we
    /// would write, and has to be replaced.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        if let Some(address) = Self::parse_v4(text) {
            return Self::V4(address);
        }
        parse_canonical_v6(text).map_or_else(|| Self::Text(text.into()), Self::V6)
    }

    /// A copy of these addresses; quick where there is only one.
    #[must_use]
    #[inline]
    pub fn copies(addresses: &[Self]) -> Addresses {
        match addresses {
            [one] => Addresses::from_buf([one.clone()]),
            many => many.into(),
        }
    }

    /// The address as text, as its `Display` has it: every endpoint that is written needs one, and an IPv4 address is printed in
    /// a fraction of the time without all that formatting can do.
    #[inline]
    pub(crate) fn text(&self) -> String {
        match self {
            Self::V4(address) => v4_text(*address),
            Self::V6(address) => address.to_string(),
            Self::Text(text) => text.to_string(),
        }
    }

    /// The type of slice that this address belongs into.
    #[must_use]
    pub fn address_type(&self) -> AddressType {
        match self {
            Self::V4(_) => AddressType::IPv4,
            Self::V6(_) => AddressType::IPv6,
            Self::Text(_) => AddressType::Fqdn,
        }
    }

    /// Why the API server would refuse a slice with this address, if it would (R144). One such address makes the whole
    /// slice unwritable, so it has to be left out before (W23).
    #[inline]
    pub fn publishable(&self) -> Result<(), Unpublishable> {
        let refused = match self {
            Self::V4(address) => v4_refusal(*address),
            Self::V6(address) => v6_refusal(*address),
            Self::Text(text) => (!is_fqdn(text)).then_some(Unpublishable::NotADomainName),
        };
        refused.map_or(Ok(()), Err)
    }
}

/// Why an address cannot be published in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unpublishable {
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

fn v4_refusal(address: Ipv4Addr) -> Option<Unpublishable> {
    if address.is_unspecified() {
        Some(Unpublishable::Unspecified)
    } else if address.is_loopback() {
        Some(Unpublishable::Loopback)
    } else if address.is_link_local() {
        Some(Unpublishable::LinkLocal)
    } else {
        matches!(address.octets(), [224, 0, 0, _]).then_some(Unpublishable::LinkLocalMulticast)
    }
}

fn v6_refusal(address: Ipv6Addr) -> Option<Unpublishable> {
    if address.is_unspecified() {
        Some(Unpublishable::Unspecified)
    } else if address.is_loopback() {
        Some(Unpublishable::Loopback)
    } else if address.is_unicast_link_local() {
        Some(Unpublishable::LinkLocal)
    } else {
        (address.segments()[0] & 0xff0f == 0xff02).then_some(Unpublishable::LinkLocalMulticast)
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
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Put together in numbers and written at once: what was written byte by byte has to reach memory before it is read as a whole.
#[inline]
fn v4_text(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets().map(octet_text);
    let mut text = Vec::with_capacity(16);
    let mut length = 0;
    for ((first, first_length), (second, second_length)) in [(a, b), (c, d)] {
        let both = u64::from(first) | u64::from(second) << (8 * first_length);
        text.extend_from_slice(&both.to_le_bytes());
        length += first_length + second_length;
        text.truncate(length);
    }
    // But for the last dot.
    text.pop();
    String::from_utf8(text).unwrap_or_default()
}

/// An octet and a dot, as text in a number, and how many characters that is.
#[inline]
fn octet_text(octet: u8) -> (u32, usize) {
    let zeros = usize::from(octet < 100) + usize::from(octet < 10);
    (OCTET_TEXTS[usize::from(octet)], 4 - zeros)
}

static OCTET_TEXTS: [u32; 256] = {
    let mut texts = [0; 256];
    let mut octet = 0;
    while octet < texts.len() {
        let zeros = (octet < 100) as usize + (octet < 10) as usize;
        let [hundreds, tens, ones] = [octet / 100, octet / 10 % 10, octet % 10];
        let digits = [DIGITS[hundreds], DIGITS[tens], DIGITS[ones], b'.'];
        texts[octet] = u32::from_le_bytes(digits) >> (8 * zeros);
        octet += 1;
    }
    texts
};
const DIGITS: &[u8; 10] = b"0123456789";

/// The number that a text begins with, without superfluous zeros, and what follows it.
fn leading_octet(text: &[u8]) -> Option<(u8, &[u8])> {
    let digit = |byte: u8| byte - b'0';
    match *text {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ref rest @ ..] => {
            let number = u16::from(digit(a)) * 100 + u16::from(digit(b) * 10 + digit(c));
            Some((u8::try_from(number).ok()?, rest))
        }
        [a @ b'1'..=b'9', b @ b'0'..=b'9', ref rest @ ..] => Some((digit(a) * 10 + digit(b), rest)),
        [a @ b'0'..=b'9', ref rest @ ..] => Some((digit(a), rest)),
        _ => None,
    }
}

/// Reads an IPv6 address in its canonical spelling, and no other: what std prints for an address that is not IPv4 in disguise. Takes
/// a fraction of the time that reading and printing it with std would.
fn parse_canonical_v6(text: &str) -> Option<Ipv6Addr> {
    let mut groups = [0; 8];
    let mut count = 0;
    // Where `::` stands for zeros.
    let mut gap = None;
    let mut rest = text.as_bytes();
    if let Some(after) = rest.strip_prefix(b"::") {
        (gap, rest) = (Some(0), after);
    }
    while !rest.is_empty() {
        let (group, after) = leading_group(rest)?;
        *groups.get_mut(count)? = group;
        count += 1;
        rest = match after {
            [b':', b':', after @ ..] if gap.is_none() => {
                gap = Some(count);
                after
            }
            [b':', after @ ..] if !after.is_empty() => after,
            [] => after,
            _ => return None,
        };
    }
    let zeros = groups.len() - count;
    match gap {
        Some(gap) => {
            groups.copy_within(gap..count, gap + zeros);
            groups[gap..gap + zeros].fill(0);
        }
        None if zeros == 0 => {}
        None => return None,
    }
    let address = Ipv6Addr::from(groups);
    let is_canonical =
        longest_run_of_zeros(groups) == gap.map(|gap| (gap, zeros)) && address.to_ipv4_mapped().is_none();
    is_canonical.then_some(address)
}

/// The group that a text begins with, in small letters and without superfluous zeros, and what follows it.
fn leading_group(text: &[u8]) -> Option<(u16, &[u8])> {
    let mut group = 0;
    let mut digits = 0;
    while let Some(byte) = text.get(digits) {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => break,
        };
        digits += 1;
        group = group << 4 | u32::from(digit);
        // Too many digits, or a zero before others.
        if digits > 4 || (digits > 1 && group < 16) {
            return None;
        }
    }
    let group = u16::try_from(group).ok()?;
    (digits > 0).then(|| (group, &text[digits..]))
}

/// Where the zeros begin that `::` stands for, and how many they are: the first of the longest runs of at least two.
fn longest_run_of_zeros(groups: [u16; 8]) -> Option<(usize, usize)> {
    let (mut longest, mut run) = (None, 0);
    for (place, group) in groups.into_iter().enumerate() {
        run = if group == 0 { run + 1 } else { 0 };
        if run > longest.map_or(1, |(_, length)| length) {
            longest = Some((place + 1 - run, run));
        }
    }
    longest
}

/// What std's parser refuses and Kubernetes takes: superfluous leading zeros in octets and groups.
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

    #[test]
    fn an_address_is_written_as_it_is_printed() {
        let v4 = |octet: u8| [[octet, 0, 9, 255], [10, octet, 99, 100]];
        let v4 = (0..=u8::MAX).flat_map(v4).map(|octets| Address::V4(octets.into()));
        let others = [Address::V6(Ipv6Addr::LOCALHOST), Address::Text("example.com".into())];
        for address in v4.chain(others) {
            assert_eq!(address.text(), address.to_string());
        }
    }

    #[test]
    fn ipv4_addresses_are_what_std_says_they_are() {
        let numbers = (0..=1_000).map(|number: u32| number.to_string());
        let others = [
            "", " ", "00", "01", "001", "0255", "+1", "-1", "1e1", "٣", "1.", ".1", "1.1", "f", "1\0",
        ];
        for part in numbers.chain(others.map(str::to_owned)) {
            for text in [
                format!("{part}.2.3.4"),
                format!("1.{part}.3.4"),
                format!("1.2.3.{part}"),
                format!("1.2.{part}"),
            ] {
                assert_eq!(Address::parse_v4(&text), text.parse().ok(), "{text:?}");
            }
        }
    }

    /// What std reads, if it prints it again in the same way and it is not IPv4 in disguise.
    fn canonical_v6(text: &str) -> Option<Ipv6Addr> {
        let address: Ipv6Addr = text.parse().ok()?;
        (address.to_string() == text && address.to_ipv4_mapped().is_none()).then_some(address)
    }

    #[test]
    fn canonical_ipv6_addresses_are_what_std_prints() {
        // All that runs of zeros can look like, in both spellings of a group.
        for zeros in 0..=u8::MAX {
            for other in [1, 0x10, 0xffff] {
                let groups: [u16; 8] = std::array::from_fn(|place| if zeros >> place & 1 == 1 { 0 } else { other });
                let address = Ipv6Addr::from(groups);
                let printed = address.to_string();
                assert_eq!(parse_canonical_v6(&printed), canonical_v6(&printed), "{printed:?}");
                assert!(parse_canonical_v6(&printed).is_some() || address.to_ipv4_mapped().is_some());
                let whole = groups.map(|group| format!("{group:x}")).join(":");
                assert_eq!(parse_canonical_v6(&whole), canonical_v6(&whole), "{whole:?}");
            }
        }
    }

    #[test]
    fn other_texts_are_no_canonical_ipv6_addresses() {
        // All texts of up to four of these, with what makes an address of them or does not.
        let signs = [
            ":", "::", "0", "1", "00", "a", "A", "ffff", "10000", "1.2.3.4", "g", " ",
        ];
        let mut texts = vec![String::new()];
        let mut begins = 0;
        for _ in 0..4 {
            let longer: Vec<String> = texts[begins..]
                .iter()
                .flat_map(|text| signs.map(|sign| format!("{text}{sign}")))
                .collect();
            begins = texts.len();
            texts.extend(longer);
        }
        for text in texts {
            for text in [
                format!("1:2:3:4:5:6:{text}"),
                format!("{text}:6:7:8"),
                format!("::{text}:7:8"),
                text,
            ] {
                assert_eq!(parse_canonical_v6(&text), canonical_v6(&text), "{text:?}");
            }
        }
    }

    /// T-MIR-N11, G-25, trap 24.
    #[test]
    fn r60_ip_addresses_are_read_leniently_and_printed_canonically() {
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
            let printed = Address::parse_ip(text).map(|address| address.to_string());
            assert_eq!(printed.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_stored_address_in_another_spelling_is_another_address() {
        for canonical in ["10.1.2.3", "2001:db8::a", "::"] {
            assert_eq!(Some(Address::stored(canonical)), Address::parse_ip(canonical));
        }
        for other in [
            "010.1.2.3",
            "2001:DB8::a",
            "2001:db8:0::a",
            "::ffff:10.1.2.3",
            "example.com",
        ] {
            let stored = Address::stored(other);
            assert_eq!(stored, Address::Text(other.into()));
            assert_eq!(stored.to_string(), other);
        }
    }

    /// R144, W23, G-25.
    #[test]
    fn what_the_api_server_refuses_is_known_before() {
        for (text, expected) in [
            ("10.0.0.1", Ok(())),
            ("fd00::1", Ok(())),
            ("224.0.1.1", Ok(())),
            ("ff05::1", Ok(())),
            ("0.0.0.0", Err(Unpublishable::Unspecified)),
            ("::", Err(Unpublishable::Unspecified)),
            ("127.9.9.9", Err(Unpublishable::Loopback)),
            ("::1", Err(Unpublishable::Loopback)),
            ("169.254.1.1", Err(Unpublishable::LinkLocal)),
            ("fe80::1", Err(Unpublishable::LinkLocal)),
            ("224.0.0.7", Err(Unpublishable::LinkLocalMulticast)),
            ("ff02::1", Err(Unpublishable::LinkLocalMulticast)),
            ("ff12::1", Err(Unpublishable::LinkLocalMulticast)),
        ] {
            assert_eq!(Address::parse_ip(text).unwrap().publishable(), expected, "{text}");
        }
        for (text, expected) in [
            ("db.example.com", Ok(())),
            ("db.example.com.", Ok(())),
            ("db", Err(Unpublishable::NotADomainName)),
            ("10.0.0", Ok(())),
            ("fe80::1%eth0", Err(Unpublishable::NotADomainName)),
            ("", Err(Unpublishable::NotADomainName)),
        ] {
            assert_eq!(Address::stored(text).publishable(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_knows_its_type() {
        let address_type = |text| Address::stored(text).address_type();
        assert_eq!(address_type("10.0.0.1"), AddressType::IPv4);
        assert_eq!(address_type("fd00::1"), AddressType::IPv6);
        assert_eq!(address_type("example.com"), AddressType::Fqdn);
    }
}
