use k8s_openapi::api::core::v1::Endpoints;
use slice_core::InvalidAddress;

use super::*;
use crate::fixtures::many_ports;

fn warnings(endpoints: &Endpoints, cap: usize) -> Vec<(&'static str, String)> {
    let warnings = Subsets::read(endpoints).desired(max(cap)).warnings;
    let warnings = warnings.into_iter();
    warnings.map(|warning| (warning.reason, warning.message)).collect()
}

fn invalid(n: usize) -> (&'static str, String) {
    let message = format!("Skipped {n} invalid IP addresses when mirroring to EndpointSlices");
    ("InvalidIPAddress", message)
}

fn too_many(max: usize, n: usize) -> (&'static str, String) {
    let message = format!(
        "A max of {max} addresses can be mirrored to EndpointSlices per Endpoints subset. {n} addresses were skipped"
    );
    ("TooManyAddressesToMirror", message)
}

/// Invalid addresses count as skipped and as invalid (T-MIR-40, T-MIR-41, T-GMIR-21, T-GMIR-22, M70, M71).
#[test]
fn invalid_addresses_are_counted() {
    let some = "fd00::1 this-is-not-an-ip :a/80; this-is-also-not-an-ip fd00::3 fd00::4 :b/443";
    let expected = "IPv6 fd00::1 :a/80; IPv6 fd00::3 fd00::4 :b/443";
    assert_eq!(desired(some, 1000), (expected.to_owned(), (2, 2)));

    let all = "this-is-not-an-ip1 this-is-not-an-ip12 :a/80; \
               this-is-not-an-ip11 this-is-not-an-ip12 this-is-not-an-ip3 :b/443";
    assert_eq!(desired(all, 1000), (String::new(), (5, 5)));
}

/// Addresses beyond the limit count as skipped and are not validated (M69–M71).
#[test]
fn addresses_beyond_the_limit_are_counted() {
    for (id, cap, subsets, expected, counts) in [
        (
            "T-MIR-42, T-GMIR-23",
            2,
            "10.0.0.1 10.0.0.2 :a/80; 10.0.1.1 10.0.1.2 10.0.1.3 :b/443",
            "IPv4 10.0.0.1 10.0.0.2 :a/80; IPv4 10.0.1.1 10.0.1.2 :b/443",
            (1, 0),
        ),
        (
            "T-MIR-N12: an invalid address beyond the limit",
            2,
            "10.0.0.1 10.0.0.2 bad :80",
            "IPv4 10.0.0.1 10.0.0.2 :80",
            (1, 0),
        ),
        (
            "an invalid address within the limit",
            2,
            "10.0.0.1 !0bad !10.0.0.2 :80",
            "IPv4 10.0.0.1 !10.0.0.2 :80",
            (1, 1),
        ),
        (
            "T-MIR-N13: both families together",
            3,
            "10.0.0.1 10.0.0.2 fd00::1 fd00::2 :80",
            "IPv4 10.0.0.1 10.0.0.2 :80; IPv6 fd00::1 :80",
            (1, 0),
        ),
        ("ready first", 1, "!10.0.0.1 10.0.0.2 :80", "IPv4 10.0.0.2 :80", (1, 0)),
        (
            "before addresses of equal identity are merged",
            1,
            "10.0.0.1/u1 10.0.0.1/u2 :80",
            "IPv4 10.0.0.1 :80",
            (1, 0),
        ),
        (
            "counted in every subset",
            9,
            "bad :a/80; bad 10.0.0.1 :b/90",
            "IPv4 10.0.0.1 :b/90",
            (2, 2),
        ),
    ] {
        assert_eq!(desired(subsets, cap), (expected.to_owned(), counts), "{id}");
    }
}

/// The default limit is 1000 (T-MIR-18, T-MIR-19).
#[test]
fn a_thousand_addresses_fit_and_one_more_gives_a_warning() {
    for (count, expected) in [(1000, vec![]), (1001, vec![too_many(1000, 1)])] {
        let addresses: Vec<String> = (0..count).map(|i| format!("10.0.{}.{}", i / 256, i % 256)).collect();
        let endpoints = endpoints(&format!("{} :80", addresses.join(" ")));
        let subsets = Subsets::read(&endpoints);
        assert_eq!(subsets.desired(max(1000)).groups[0].endpoints.len(), 1000);
        assert_eq!(warnings(&endpoints, 1000), expected);
    }
}

/// The second message counts invalid addresses too (M75, M76, G56, D11).
#[test]
fn invalid_and_excess_addresses_give_different_warnings() {
    for (subsets, expected) in [
        ("10.0.0.1 :80", vec![]),
        ("10.0.0.1 bad worse :80", vec![invalid(2)]),
        ("10.0.0.1 10.0.0.2 bad :80", vec![too_many(2, 1)]),
        ("0bad 10.0.0.1 10.0.0.2 10.0.0.3 :80", vec![invalid(1), too_many(2, 2)]),
    ] {
        assert_eq!(warnings(&endpoints(subsets), 2), expected, "{subsets}");
    }
}

/// The API server would reject a whole slice for one invalid address, so it is skipped (M61, W23).
#[test]
fn skipped_entries_have_a_reason() {
    let endpoints = endpoints("10.0.0.1 127.0.0.1 15 192.0.2.1 fe80::1%eth0 nowhere !0.0.0.0 :a/80 b/0");
    let subsets = Subsets::read(&endpoints);
    let desired = subsets.desired(max(2));
    let skipped = desired.skipped_entries.iter().map(|entry| match entry {
        SkippedEntry::Address { address, reason } => (address.to_string(), Some(*reason)),
        SkippedEntry::Port { name, .. } | SkippedEntry::SameName { name, .. } => ((*name).to_owned(), None),
    });
    let expected = [
        ("b", None),
        ("127.0.0.1", Some(AddressSkipReason::Invalid(InvalidAddress::Loopback))),
        ("15", Some(AddressSkipReason::NotAnIp)),
        ("fe80::1%eth0", Some(AddressSkipReason::LimitExceeded)),
        ("nowhere", Some(AddressSkipReason::LimitExceeded)),
        ("0.0.0.0", Some(AddressSkipReason::LimitExceeded)),
    ]
    .map(|(name, reason)| (name.to_owned(), reason));
    assert_eq!(skipped.collect::<Vec<_>>(), expected);
    assert_eq!((desired.skipped_addresses, desired.invalid_addresses), (5, 2));
    assert_eq!(groups(desired.groups), "IPv4 10.0.0.1 192.0.2.1 :a/80; IPv6  :a/80");
}

/// Each port of one name needs a slice with all addresses, so their number is limited (F25).
#[test]
fn f25_at_most_eight_ports_of_one_name_are_mirrored() {
    for (ports, groups, skipped) in [
        (8, 8, vec![]),
        (100, 8, vec![SkippedEntry::SameName { name: "", ports: 92 }]),
    ] {
        let mut endpoints = endpoints("10.0.0.1 :");
        endpoints.subsets.as_mut().unwrap()[0].ports = Some(many_ports(0, ports));
        let subsets = Subsets::read(&endpoints);
        let desired = subsets.desired(max(1000));
        assert_eq!(desired.groups.len(), 2 * groups, "one per family");
        assert_eq!(desired.skipped_entries, skipped);
    }
}

/// The plan validates port lists, so a group with too many ports is still desired (F25). Ports of one name never share a slice,
/// so they do not count together. Addresses of a group with invalid ports count neither as invalid nor as beyond the limit.
#[test]
fn f25_a_subset_with_more_ports_than_a_slice_may_have_is_still_a_group() {
    for (named, unnamed, sizes) in [
        (20_001, 0, &[20_001][..]),
        (20_000, 2, &[20_001, 1]),
        (19_999, 2, &[20_000, 1]),
    ] {
        let mut endpoints = endpoints("10.0.0.1 10.0.0.2 bad :");
        endpoints.subsets.as_mut().unwrap()[0].ports = Some(many_ports(named, unnamed));
        let subsets = Subsets::read(&endpoints);
        let desired = subsets.desired(max(1));
        let found = desired.groups.iter().step_by(2);
        let found: Vec<_> = found
            .map(|group| (group.ports.ports().len(), group.endpoints.len()))
            .collect();
        let expected: Vec<_> = sizes.iter().map(|size| (*size, 1)).collect();
        assert_eq!(found, expected);
        assert_eq!(
            (
                desired.skipped_addresses,
                desired.invalid_addresses,
                desired.skipped_entries.len()
            ),
            (2, 0, 2)
        );
    }
}
