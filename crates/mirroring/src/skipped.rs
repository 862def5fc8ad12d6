//! Entries of an Endpoints object that are not mirrored, with the reason.

use slice_core::{Address, InvalidAddress};

/// An entry that is not mirrored; the rest of the object is. Port lists that are invalid in a slice are reported by the plan as
/// [`slice_reconciler::Rejected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkippedEntry<'a> {
    /// An address, reported once per canonical subset.
    #[error("address {:?} is skipped: {reason}", address.to_string())]
    Address {
        /// The address; as written in the object if it is not an IP address.
        address: &'a Address,
        /// Why it is skipped.
        reason: AddressSkipReason,
    },
    /// A port whose number is out of range. Its addresses are treated as if they had no port (M49).
    #[error("port {name:?} is skipped: {number} is not between 1 and 65535")]
    Port {
        /// Name of the port, may be empty.
        name: &'a str,
        /// Number of the port.
        number: i32,
    },
    /// Ports of a subset beyond the limit for one name. Ports of one name cannot share a slice.
    #[error("{ports} ports of the name {name:?} are skipped: only {SAME_NAME_MAX} ports of one name are mirrored")]
    SameName {
        /// Name of the ports, may be empty.
        name: &'a str,
        /// Number of skipped ports.
        ports: usize,
    },
}

/// Maximum number of ports of one name in a subset. Each one needs slices of its own with all addresses and annotations, so this
/// bounds how much larger than their Endpoints object the slices can be. Upstream mirrors no such subset at all (D3).
pub(crate) const SAME_NAME_MAX: usize = 8;

/// Why an address is not mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressSkipReason {
    /// It is not an IP address (M58, M61).
    #[error("it is not an IP address")]
    NotAnIp,
    /// The API server would reject the whole slice because of it (W23).
    #[error("{0}")]
    Invalid(InvalidAddress),
    /// The limit of its subset was reached before it (M69). It was not validated, so it may be invalid as well.
    #[error("its subset exceeds the maximum number of addresses")]
    LimitExceeded,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_entry_and_the_reason() {
        let address = Address::from_canonical("::1");
        let loopback = AddressSkipReason::Invalid(InvalidAddress::Loopback);
        for (entry, expected) in [
            (
                SkippedEntry::Address {
                    address: &address,
                    reason: loopback,
                },
                "address \"::1\" is skipped: it is a loopback address",
            ),
            (
                SkippedEntry::Port {
                    name: "",
                    number: 70_000,
                },
                "port \"\" is skipped: 70000 is not between 1 and 65535",
            ),
            (
                SkippedEntry::SameName { name: "http", ports: 2 },
                "2 ports of the name \"http\" are skipped: only 8 ports of one name are mirrored",
            ),
        ] {
            assert_eq!(entry.to_string(), expected);
        }
    }
}
