//! Limits of a slice: maximum endpoints, one address type, unique port names (I3).

use std::collections::BTreeSet;

use super::step::Revision;
use crate::config::CheckConfig;
use crate::desired::{Family, endpoints_of, parse_address};
use crate::violation::{Findings, Invariant::I3};

pub(super) fn check(revision: &Revision<'_>, config: &CheckConfig, findings: &mut Findings) {
    let (Some(slice), Some(role), true) = (revision.after(), revision.role, revision.is_ours()) else {
        return;
    };
    let endpoints = endpoints_of(slice);
    let max = config.max_endpoints(role);
    findings.check(I3, revision.subject(), endpoints.len() <= max, || {
        (format!("at most {max} endpoints"), endpoints.len().to_string())
    });

    let family = Family::of_slice(slice);
    let addresses = endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    let mismatched: Vec<_> = addresses
        .filter(|address| parse_address(address).map(Family::of) != family)
        .collect();
    findings.check(
        I3,
        revision.subject(),
        family.is_some() && mismatched.is_empty(),
        || {
            (
                "addresses of one type, IPv4 or IPv6".to_owned(),
                format!("type {} with {mismatched:?}", slice.address_type),
            )
        },
    );

    let ports = slice.ports.as_deref().unwrap_or_default();
    let names: Vec<_> = ports
        .iter()
        .map(|port| port.name.as_deref().unwrap_or_default())
        .collect();
    let unique: BTreeSet<_> = names.iter().collect();
    findings.check(I3, revision.subject(), unique.len() == names.len(), || {
        ("unique port names".to_owned(), format!("{names:?}"))
    });
}
