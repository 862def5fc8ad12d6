use k8s_openapi::api::core::v1::Endpoints;
use slice_core::InvalidAddress;

use super::*;
use crate::testing::many_ports;

fn events(written: &Endpoints, cap: usize) -> Vec<(&'static str, String)> {
    let events = Subsets::read(written).desired(max(cap)).events;
    events.into_iter().map(|event| (event.reason, event.message)).collect()
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

/// T-MIR-40, T-MIR-41, T-GMIR-21, T-GMIR-22: (skipped, invalid), M70 and M71.
#[test]
fn what_cannot_be_read_is_counted() {
    let some = "fd00::1 this-is-not-an-ip :a/80; this-is-also-not-an-ip fd00::3 fd00::4 :b/443";
    let expected = "IPv6 fd00::1 :a/80; IPv6 fd00::3 fd00::4 :b/443";
    assert_eq!(desired(some, 1000), (expected.to_owned(), (2, 2)));

    let all = "this-is-not-an-ip1 this-is-not-an-ip12 :a/80; \
               this-is-not-an-ip11 this-is-not-an-ip12 this-is-not-an-ip3 :b/443";
    assert_eq!(desired(all, 1000), (String::new(), (5, 5)));
}

/// (skipped, invalid), M69–M71.
#[test]
fn what_is_too_much_is_counted() {
    for (id, cap, written, expected, counts) in [
        (
            "T-MIR-42, T-GMIR-23",
            2,
            "10.0.0.1 10.0.0.2 :a/80; 10.0.1.1 10.0.1.2 10.0.1.3 :b/443",
            "IPv4 10.0.0.1 10.0.0.2 :a/80; IPv4 10.0.1.1 10.0.1.2 :b/443",
            (1, 0),
        ),
        (
            "T-MIR-N12: not looked at",
            2,
            "10.0.0.1 10.0.0.2 bad :80",
            "IPv4 10.0.0.1 10.0.0.2 :80",
            (1, 0),
        ),
        (
            "looked at",
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
            "before those of one identity are one",
            1,
            "10.0.0.1/u1 10.0.0.1/u2 :80",
            "IPv4 10.0.0.1 :80",
            (1, 0),
        ),
        (
            "in every subset",
            9,
            "bad :a/80; bad 10.0.0.1 :b/90",
            "IPv4 10.0.0.1 :b/90",
            (2, 2),
        ),
    ] {
        assert_eq!(desired(written, cap), (expected.to_owned(), counts), "{id}");
    }
}

/// T-MIR-18, T-MIR-19.
#[test]
fn a_thousand_addresses_fit_and_one_more_is_told() {
    for (addresses, expected) in [(1000, vec![]), (1001, vec![too_many(1000, 1)])] {
        let written: Vec<String> = (0..addresses)
            .map(|i| format!("10.0.{}.{}", i / 256, i % 256))
            .collect();
        let written = endpoints(&format!("{} :80", written.join(" ")));
        let subsets = Subsets::read(&written);
        assert_eq!(subsets.desired(max(1000)).groups[0].endpoints.len(), 1000);
        assert_eq!(events(&written, 1000), expected);
    }
}

/// M75, M76, G56, D11: the second message counts what the first one counts, too.
#[test]
fn invalid_and_surplus_addresses_are_told_apart() {
    for (written, expected) in [
        ("10.0.0.1 :80", vec![]),
        ("10.0.0.1 bad worse :80", vec![invalid(2)]),
        ("10.0.0.1 10.0.0.2 bad :80", vec![too_many(2, 1)]),
        ("0bad 10.0.0.1 10.0.0.2 10.0.0.3 :80", vec![invalid(1), too_many(2, 2)]),
    ] {
        assert_eq!(events(&endpoints(written), 2), expected, "{written}");
    }
}

/// M61, W23: what the API server refuses would take the whole slice with it. Each omission is named.
#[test]
fn what_is_left_out_is_named_with_its_reason() {
    let written = endpoints("10.0.0.1 127.0.0.1 15 192.0.2.1 fe80::1%eth0 nowhere !0.0.0.0 :a/80 b/0");
    let subsets = Subsets::read(&written);
    let desired = subsets.desired(max(2));
    let named = desired
        .skipped_entries
        .iter()
        .map(|skipped_entries| match skipped_entries {
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
    assert_eq!(named.collect::<Vec<_>>(), expected);
    assert_eq!((desired.skipped, desired.invalid), (5, 2));
    assert_eq!(groups(desired.groups), "IPv4 10.0.0.1 192.0.2.1 :a/80; IPv6  :a/80");
}

/// F25: ports of one name take slices of all addresses each, so there is an end to it.
#[test]
fn f25_of_ports_of_one_name_a_hundred_are_mirrored() {
    let mut written = endpoints("10.0.0.1 :");
    written.subsets.as_mut().unwrap()[0].ports = Some(many_ports(0, 150));
    let subsets = Subsets::read(&written);
    let desired = subsets.desired(max(1000));
    assert_eq!(desired.groups.len(), 2 * 100, "one of each family");
    assert_eq!(
        desired.skipped_entries,
        [SkippedEntry::SameName { name: "", ports: 50 }]
    );
}

/// F25: which ports no slice may have is for the plan to say. Those of one name never share a slice, so they do not count
/// together; and addresses that only their ports keep from being published are neither invalid nor too many.
#[test]
fn f25_a_subset_with_more_ports_than_a_slice_may_have_is_handed_on() {
    for (named, unnamed, sizes) in [
        (20_001, 0, &[20_001][..]),
        (20_000, 2, &[20_001, 1]),
        (19_999, 2, &[20_000, 1]),
    ] {
        let mut written = endpoints("10.0.0.1 10.0.0.2 bad :");
        written.subsets.as_mut().unwrap()[0].ports = Some(many_ports(named, unnamed));
        let subsets = Subsets::read(&written);
        let desired = subsets.desired(max(1));
        let of_groups = desired.groups.iter().step_by(2);
        let of_groups: Vec<_> = of_groups
            .map(|group| (group.ports.ports().len(), group.endpoints.len()))
            .collect();
        let expected: Vec<_> = sizes.iter().map(|size| (*size, 1)).collect();
        assert_eq!(of_groups, expected);
        assert_eq!(
            (desired.skipped, desired.invalid, desired.skipped_entries.len()),
            (2, 0, 2)
        );
    }
}
