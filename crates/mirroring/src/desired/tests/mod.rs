use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::json;

use super::*;
use crate::fixtures::{endpoints, groups};

mod limits;

fn max(max: usize) -> NonZeroUsize {
    NonZeroUsize::new(max).unwrap()
}

/// Returns the groups that are not empty, and the numbers of skipped and invalid addresses.
fn desired(subsets: &str, cap: usize) -> (String, (usize, usize)) {
    let endpoints = endpoints(subsets);
    let subsets = Subsets::read(&endpoints);
    let mut desired = subsets.desired(max(cap));
    desired.groups.retain(|group| !group.endpoints.is_empty());
    (
        groups(desired.groups),
        (desired.skipped_addresses, desired.invalid_addresses),
    )
}

fn assert_desired(rows: &[(&str, &str, &str)]) {
    for (id, subsets, expected) in rows {
        assert_eq!(desired(subsets, 1000), ((*expected).to_owned(), (0, 0)), "{id}");
    }
}

/// The part of the rows that is about desired endpoints; the plans are in the tests of the crate.
#[test]
fn t_mir_20_to_25_subsets_of_the_same_addresses_or_ports_are_joined() {
    assert_desired(&[
        ("T-MIR-20, T-GMIR-01, S15", "", ""),
        ("T-MIR-11, T-MIR-21, T-GMIR-02", " :http/80", ""),
        ("T-MIR-13", "10.0.0.1 :80", "IPv4 10.0.0.1 :80"),
        (
            "T-MIR-22, T-GMIR-03",
            "10.0.0.1@pod-1 :http/80",
            "IPv4 10.0.0.1@pod-1 :http/80",
        ),
        (
            "T-MIR-23, T-GMIR-04",
            "10.0.0.1 :http/80; 10.0.0.2 :https/443",
            "IPv4 10.0.0.1 :http/80; IPv4 10.0.0.2 :https/443",
        ),
        (
            "T-MIR-24, T-GMIR-05, S17",
            "10.0.0.1 :http/80; 10.0.0.1 :https/443",
            "IPv4 10.0.0.1 :http/80 https/443",
        ),
        (
            "T-MIR-25, T-GMIR-06",
            "10.0.0.1 :http/80; 10.0.0.2 :http/80",
            "IPv4 10.0.0.1 10.0.0.2 :http/80",
        ),
    ]);
}

#[test]
fn t_mir_31_to_39_every_address_is_in_the_group_of_its_family_and_ports() {
    assert_desired(&[
        (
            "T-MIR-31, T-GMIR-12",
            "10.0.0.1 10.0.0.2 :http/80 https/443/UDP",
            "IPv4 10.0.0.1 10.0.0.2 :http/80 https/443/UDP",
        ),
        (
            "T-MIR-32, T-GMIR-13",
            "!10.0.0.1 !10.0.0.2 :http/80 https/443/UDP",
            "IPv4 !10.0.0.1 !10.0.0.2 :http/80 https/443/UDP",
        ),
        (
            "T-MIR-33, T-GMIR-14",
            "10.1.1.1 10.1.1.2 !10.0.0.1 !10.0.0.2 :http/80",
            "IPv4 !10.0.0.1 !10.0.0.2 10.1.1.1 10.1.1.2 :http/80",
        ),
        (
            "T-MIR-34, T-GMIR-15",
            "10.0.0.1 10.0.0.2 :a/80 b/443; 10.0.1.1 10.0.1.2 10.0.1.3 :c/3000 d/3001",
            "IPv4 10.0.0.1 10.0.0.2 :a/80 b/443; IPv4 10.0.1.1 10.0.1.2 10.0.1.3 :c/3000 d/3001",
        ),
        (
            "T-MIR-38, T-GMIR-19, S14",
            "10.0.0.1 fd00::1 :a/80; 10.0.0.2 10.0.0.3 fd00::2 :b/443",
            "IPv4 10.0.0.1 :a/80; IPv6 fd00::1 :a/80; IPv4 10.0.0.2 10.0.0.3 :b/443; IPv6 fd00::2 :b/443",
        ),
        (
            "T-MIR-39, T-GMIR-20",
            "fd00::1 fd00::2 :a/80; fd00::3 fd00::4 fd00::5 :b/443",
            "IPv6 fd00::1 fd00::2 :a/80; IPv6 fd00::3 fd00::4 fd00::5 :b/443",
        ),
    ]);
}

/// An empty group marks slices to delete (M67).
#[test]
fn every_set_of_ports_has_a_group_of_each_family() {
    let endpoints = endpoints("10.0.0.1 :a/80; nonsense :b/443");
    let subsets = Subsets::read(&endpoints);
    let expected = "IPv4 10.0.0.1 :a/80; IPv6  :a/80; IPv4  :b/443; IPv6  :b/443";
    assert_eq!(groups(subsets.desired(max(1000)).groups), expected);
}

/// Leading zeros, IPv4-mapped and non-canonical IPv6 addresses are accepted (T-MIR-N11, M58–M60).
#[test]
fn addresses_are_parsed_leniently_and_published_in_canonical_form() {
    let subsets = "010.001.000.009 ::ffff:10.1.2.3 2001:DB8:0:0:0:0:0:A fe80::1%eth0 10.0.0 :80";
    let expected = "IPv4 10.1.0.9 10.1.2.3 :80; IPv6 2001:db8::a :80";
    assert_eq!(desired(subsets, 1000), (expected.to_owned(), (2, 2)));
    for ip in ["10.0.0.1/32", ""] {
        let endpoints = serde_json::from_value(json!({"subsets": [{"addresses": [{"ip": ip}]}]})).unwrap();
        assert_eq!(Subsets::read(&endpoints).desired(max(1)).invalid_addresses, 1, "{ip:?}");
    }
}

/// Hostname, node name, target and readiness are copied (T-MIR-53, T-A2E-01, M62).
#[test]
fn an_endpoint_has_the_fields_of_its_address_and_no_others() {
    let target = json!({
        "kind": "Pod", "namespace": "default", "name": "foo", "apiVersion": "v1", "uid": "", "resourceVersion": "7",
    });
    let address = json!({"ip": "10.1.2.3", "hostname": "foo", "nodeName": "node-abc", "targetRef": target});
    let bare = json!({"ip": "10.1.2.4", "hostname": ""});
    let subset = json!({"addresses": [address], "notReadyAddresses": [bare]});
    let endpoints = serde_json::from_value(json!({ "subsets": [subset] })).unwrap();
    let subsets = Subsets::read(&endpoints);
    let group = subsets.desired(max(1000)).groups.swap_remove(0);
    assert_eq!((group.address_type, group.ports.ports()), (AddressType::IPv4, &[][..]));

    let ready = |ready| Conditions {
        ready: Some(ready),
        ..Conditions::default()
    };
    let endpoint = |address: &str, is_ready: bool| Endpoint {
        addresses: [Address::from_canonical(address)].into_iter().collect(),
        conditions: ready(is_ready),
        ..Endpoint::default()
    };
    let full = Endpoint {
        hostname: Some("foo".into()),
        node_name: Some("node-abc".into()),
        target: Some(Target::from(&ObjectReference {
            kind: Some("Pod".into()),
            namespace: Some("default".into()),
            name: Some("foo".into()),
            api_version: Some("v1".into()),
            resource_version: Some("7".into()),
            ..ObjectReference::default()
        })),
        ..endpoint("10.1.2.3", true)
    };
    let endpoints = group.endpoints.into_sorted();
    let endpoints: Vec<Endpoint> = endpoints.iter().map(EndpointSource::to_endpoint).collect();
    assert_eq!(endpoints, [full, endpoint("10.1.2.4", false)]);
}

/// Addresses with different uids can be endpoints with equal identity (M63).
#[test]
fn of_addresses_with_equal_identity_the_last_one_is_used() {
    assert_desired(&[
        (
            "T-MIR-N14",
            "10.0.0.1/uid-1@a !10.0.0.1/uid-2@a :80",
            "IPv4 !10.0.0.1@a :80",
        ),
        (
            "not ready addresses come last",
            "!10.0.0.1/uid-1@a 10.0.0.1/uid-2@a :80",
            "IPv4 !10.0.0.1@a :80",
        ),
        (
            "two pods",
            "10.0.0.1/uid-1@a !10.0.0.1/uid-2@b :80",
            "IPv4 10.0.0.1@a !10.0.0.1@b :80",
        ),
        (
            "two texts of one address",
            "!010.0.0.1 10.0.0.1 :80",
            "IPv4 !10.0.0.1 :80",
        ),
    ]);
}

#[test]
fn ports_of_one_name_are_split_over_slices() {
    assert_desired(&[
        (
            "D3, T-MIR-N04",
            "10.1.0.1 :80; 10.1.0.1 :90",
            "IPv4 10.1.0.1 :80; IPv4 10.1.0.1 :90",
        ),
        (
            "D3: as few as possible",
            "10.1.0.1 :a/1 a/2 b/3 a/4 b/5 c/6",
            "IPv4 10.1.0.1 :a/1 b/3 c/6; IPv4 10.1.0.1 :a/2 b/5; IPv4 10.1.0.1 :a/4",
        ),
        (
            "D4, T-MIR-N05",
            "10.1.0.1 :p/80~http; 10.1.0.1 :p/80~http",
            "IPv4 10.1.0.1 :p/80~http",
        ),
        (
            "D4, T-MIR-N06",
            "10.1.0.1 :p/80~http; !10.1.0.1 :p/80~http",
            "IPv4 !10.1.0.1 :p/80~http",
        ),
    ]);
    // A skipped address counts once per subset, not once per slice.
    assert_eq!(desired("bad :80 90", 1000).1, (1, 1));
}
