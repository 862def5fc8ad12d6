//! What an Endpoints object holds and its slices will not, and why.

use slice_core::{Address, InvalidAddress};

/// Something that is not mirrored; the rest of the object is. Ports that no slice may have are named by
/// [`slice_reconciler::Rejected`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkippedEntry<'a> {
    /// An address, once for each canonical subset that it is missing from.
    #[error("address {:?} is left out: {reason}", address.to_string())]
    Address {
        /// As its author wrote it, if it is not an IP address.
        address: &'a Address,
        /// What is wrong with it.
        reason: AddressSkipReason,
    },
    /// A port whose number none can have. Its addresses are treated as if they had no port (M49).
    #[error("port {name:?} is left out: {number} is not between 1 and 65535")]
    Port {
        /// Its name, which may be empty.
        name: &'a str,
        /// Its number.
        number: i32,
    },
    /// Ports of a subset with a name that more of them have than are mirrored: each takes slices of its own.
    #[error("{ports} ports of the name {name:?} are left out: {SAME_NAME_MAX} others of it are mirrored")]
    SameName {
        /// Their name, which may be empty.
        name: &'a str,
        /// How many.
        ports: usize,
    },
}

/// How many ports of one name are mirrored: far more than anybody means, and few enough for slices of all addresses each.
pub(crate) const SAME_NAME_MAX: usize = 100;

/// Why an address is not mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressSkipReason {
    /// It cannot be read (M58, M61).
    #[error("it is not an IP address")]
    NotAnIp,
    /// The API server would refuse the whole slice because of it (W23).
    #[error("{0}")]
    Invalid(InvalidAddress),
    /// As many as are mirrored of a subset came before it (M69). It was not looked at: it may be invalid as well.
    #[error("its subset holds more addresses than are mirrored")]
    LimitExceeded,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_omission_can_be_told_to_a_person() {
        let address = Address::from_canonical("::1");
        let unpublishable = AddressSkipReason::Invalid(InvalidAddress::Loopback);
        for (skipped_entries, expected) in [
            (
                SkippedEntry::Address {
                    address: &address,
                    reason: unpublishable,
                },
                "address \"::1\" is left out: it is a loopback address",
            ),
            (
                SkippedEntry::Port {
                    name: "",
                    number: 70_000,
                },
                "port \"\" is left out: 70000 is not between 1 and 65535",
            ),
            (
                SkippedEntry::SameName { name: "http", ports: 2 },
                "2 ports of the name \"http\" are left out: 100 others of it are mirrored",
            ),
        ] {
            assert_eq!(skipped_entries.to_string(), expected);
        }
    }
}
