//! The address type of slices.

use std::{fmt, str::FromStr};

/// The type of all addresses of a slice. It is immutable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AddressType {
    /// IPv4 addresses.
    IPv4,
    /// IPv6 addresses.
    IPv6,
    /// Domain names. The API server accepts them with a warning; the built-in controllers never write them.
    Fqdn,
}

impl AddressType {
    /// The value of the API field `addressType`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
            Self::Fqdn => "FQDN",
        }
    }
}

impl fmt::Display for AddressType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AddressType {
    type Err = UnknownAddressType;

    fn from_str(text: &str) -> Result<Self, UnknownAddressType> {
        [Self::IPv4, Self::IPv6, Self::Fqdn]
            .into_iter()
            .find(|address_type| address_type.as_str() == text)
            .ok_or_else(|| UnknownAddressType(text.to_owned()))
    }
}

/// An address type that the API does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address type {0:?} is none of IPv4, IPv6, FQDN")]
pub struct UnknownAddressType(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r141_address_types_are_parsed_exactly() {
        for address_type in [AddressType::IPv4, AddressType::IPv6, AddressType::Fqdn] {
            assert_eq!(address_type.to_string().parse(), Ok(address_type));
        }
        for unknown in ["", "IP", "ipv4", "Fqdn"] {
            assert_eq!(
                unknown.parse::<AddressType>(),
                Err(UnknownAddressType(unknown.to_owned()))
            );
        }
    }
}
