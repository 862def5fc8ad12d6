//! Tests from an Endpoints object and its existing slices to a plan: the rows of `docs/spec/mirroring.md`, and the equivalent
//! ones of `docs/spec/generic-reconciler.md`.

use std::{collections::BTreeSet, num::NonZeroUsize};

use k8s_openapi::api::core::v1::{EndpointPort, Endpoints};
use serde_json::json;
use slice_core::{Address, AddressType, CompactSlice, Conditions, InvalidPorts, well_known};
use slice_reconciler::{MetadataPolicy, Operation, Owner, Plan, PlanRequest, Rejected, plan};

use crate::{
    Metadata, Subsets,
    fixtures::{self, many_ports},
    reconcile_options,
};

fn endpoints(subsets: &str) -> Endpoints {
    let mut endpoints = fixtures::endpoints(subsets);
    let metadata = json!({"namespace": "ns", "name": "ep", "uid": "uid-1"});
    endpoints.metadata = serde_json::from_value(metadata).unwrap();
    endpoints
}

fn planned(endpoints: &Endpoints, existing: &[CompactSlice], max: usize) -> Plan {
    let max = NonZeroUsize::new(max).unwrap();
    let subsets = Subsets::read(endpoints);
    let policy = MetadataPolicy::from(Metadata::of(endpoints));
    let request = PlanRequest {
        address_types: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        desired: subsets.desired(max).groups,
        ..PlanRequest::new(
            Owner::from_meta("v1", "Endpoints", &endpoints.metadata),
            existing,
            &policy,
            "ep-",
        )
    };
    let options = reconcile_options(max);
    plan(request, &options).unwrap()
}

/// The slices that a first plan creates for these subsets.
fn stored(subsets: &str) -> Vec<CompactSlice> {
    created(&planned(&endpoints(subsets), &[], 1000))
}

fn created(plan: &Plan) -> Vec<CompactSlice> {
    let slices = plan.writes.iter().map(|write| match &write.operation {
        Operation::Create(slice) => slice.clone(),
        other => panic!("{other:?}"),
    });
    slices.collect()
}

/// The writes in order, by their first letters.
fn writes(plan: &Plan) -> String {
    let letter = |operation: &Operation| match operation {
        Operation::Create(_) => 'c',
        Operation::Update(_) => 'u',
        Operation::Delete(_) => 'd',
    };
    plan.writes.iter().map(|write| letter(&write.operation)).collect()
}

fn updated(plan: &Plan) -> &CompactSlice {
    let mut updates = plan.writes.iter().filter_map(|write| match &write.operation {
        Operation::Update(slice) => Some(slice),
        _ => None,
    });
    updates.next().unwrap()
}

/// Minimum number of slices/slices/endpoints, +added ~changed -removed endpoints, writes.
fn summary(plan: &Plan) -> String {
    let total = |of: fn(&slice_reconciler::PlanStats) -> usize| plan.stats.iter().map(of).sum::<usize>();
    let [min_slices, slices, endpoints] = [
        total(|stats| stats.min_slices),
        total(|stats| stats.slices),
        total(|stats| stats.desired_endpoints),
    ];
    let [added, changed, removed] = [
        total(|stats| stats.changes.added),
        total(|stats| stats.changes.changed),
        total(|stats| stats.changes.removed),
    ];
    format!(
        "{min_slices}/{slices}/{endpoints} +{added} ~{changed} -{removed} {}",
        writes(plan)
    )
}

const TWO_AND_THREE: &str = "10.0.0.1@pod-1 10.0.0.2@pod-2 :a/80 b/443; 10.0.1.1 10.0.1.2 10.0.1.3 :c/3000 d/3001";

/// Id, maximum, subsets, expected summary.
const WITHOUT_SLICES: [(&str, usize, &str, &str); 15] = [
    ("T-MIR-20, T-GMIR-01", 1000, "", "0/0/0 +0 ~0 -0 "),
    ("T-MIR-21, T-GMIR-02", 1000, " :http/80", "0/0/0 +0 ~0 -0 "),
    (
        "T-MIR-22, T-GMIR-03",
        1000,
        "10.0.0.1@pod-1 :http/80",
        "1/1/1 +1 ~0 -0 c",
    ),
    (
        "T-MIR-23, T-GMIR-04",
        1000,
        "10.0.0.1 :http/80; 10.0.0.2 :https/443",
        "2/2/2 +2 ~0 -0 cc",
    ),
    (
        "T-MIR-24, T-GMIR-05",
        1000,
        "10.0.0.1 :http/80; 10.0.0.1 :https/443",
        "1/1/1 +1 ~0 -0 c",
    ),
    (
        "T-MIR-25, T-GMIR-06",
        1000,
        "10.0.0.1 :http/80; 10.0.0.2 :http/80",
        "1/1/2 +2 ~0 -0 c",
    ),
    (
        "T-MIR-31, T-GMIR-12",
        1000,
        "10.0.0.1 10.0.0.2 :http/80 https/443/UDP",
        "1/1/2 +2 ~0 -0 c",
    ),
    (
        "T-MIR-32, T-GMIR-13",
        1000,
        "!10.0.0.1 !10.0.0.2 :http/80 https/443/UDP",
        "1/1/2 +2 ~0 -0 c",
    ),
    (
        "T-MIR-33, T-GMIR-14",
        1000,
        "10.1.1.1 10.1.1.2 !10.0.0.1 !10.0.0.2 :http/80",
        "1/1/4 +4 ~0 -0 c",
    ),
    ("T-MIR-34, T-GMIR-15", 1000, TWO_AND_THREE, "2/2/5 +5 ~0 -0 cc"),
    (
        "T-MIR-38, T-GMIR-19",
        1000,
        "10.0.0.1 fd00::1 :a/80; 10.0.0.2 10.0.0.3 fd00::2 :b/443",
        "4/4/5 +5 ~0 -0 cccc",
    ),
    (
        "T-MIR-39, T-GMIR-20",
        1000,
        "fd00::1 fd00::2 :a/80; fd00::3 fd00::4 fd00::5 :b/443",
        "2/2/5 +5 ~0 -0 cc",
    ),
    (
        "T-MIR-40, T-GMIR-21",
        1000,
        "fd00::1 no-ip :a/80; no-ip fd00::3 fd00::4 :b/443",
        "2/2/3 +3 ~0 -0 cc",
    ),
    (
        "T-MIR-41, T-GMIR-22",
        1000,
        "no-ip1 no-ip12 :a/80; no-ip11 no-ip12 no-ip3 :b/443",
        "0/0/0 +0 ~0 -0 ",
    ),
    ("T-MIR-42, T-GMIR-23", 2, TWO_AND_THREE, "2/2/4 +4 ~0 -0 cc"),
];

/// Plans without existing slices (T-MIR-20…42, T-GMIR-01…23).
#[test]
fn t_mir_20_to_42_slices_are_created() {
    for (id, max, subsets, expected) in WITHOUT_SLICES {
        let plan = planned(&endpoints(subsets), &[], max);
        assert_eq!(summary(&plan), expected, "{id}");
        for slice in created(&plan) {
            let labels = slice.metadata.labels.unwrap();
            assert!(slice.metadata.name.unwrap().starts_with("ep-"), "{id}");
            assert_eq!(labels[well_known::SERVICE_NAME_LABEL], "ep", "{id}");
            assert!(
                slice.endpoints.iter().all(|endpoint| endpoint.addresses.len() == 1),
                "{id}"
            );
        }
    }
}

/// No slices are created for a terminating object (T-MIR-26, T-GMIR-07).
#[test]
fn t_mir_26_a_terminating_object_gets_no_slices() {
    let mut terminating = endpoints("10.0.0.1@pod-1 :http/80");
    terminating.metadata.deletion_timestamp = serde_json::from_str("\"2024-01-02T03:04:05Z\"").unwrap();
    assert_eq!(planned(&terminating, &[], 1000).writes, []);
}

fn annotate(slice: &mut CompactSlice, key: &str) {
    let annotations = slice.metadata.annotations.get_or_insert_default();
    annotations.insert(key.into(), "bar".into());
}

/// The endpoints are as desired; metadata, owner or address type differ (T-MIR-27…30, T-MIR-47, T-GMIR-08…11, T-GMIR-28,
/// T-MIR-N10).
#[test]
fn t_mir_27_to_30_slices_that_differ_in_metadata() {
    type Change = fn(&mut Endpoints, &mut CompactSlice);
    let cases: [(&str, Change, &str); 9] = [
        ("T-MIR-27, T-GMIR-08: no difference", |_, _| {}, ""),
        // Upstream adopts such a slice by an update (I7).
        (
            "T-MIR-28, T-GMIR-09: an earlier object of the same name",
            |_, slice| slice.metadata.owner_references.as_mut().unwrap()[0].uid = "uid-0".into(),
            "cd",
        ),
        (
            "M83.4: an owner of another name",
            |_, slice| {
                let owner = &mut slice.metadata.owner_references.as_mut().unwrap()[0];
                (owner.name, owner.uid) = ("other".into(), "uid-0".into());
            },
            "",
        ),
        (
            "M83.4: no owner reference",
            |_, slice| slice.metadata.owner_references = None,
            "",
        ),
        (
            "T-MIR-29, T-GMIR-10: an annotation on the slice",
            |_, slice| annotate(slice, "foo"),
            "u",
        ),
        (
            "T-MIR-30, T-GMIR-11: a label on the object",
            |endpoints, slice| {
                endpoints.metadata.labels = Some([("foo".into(), "bar".into())].into());
                annotate(slice, "foo");
            },
            "u",
        ),
        (
            "T-MIR-47, T-GMIR-28: last-applied on the slice",
            |_, slice| annotate(slice, well_known::LAST_APPLIED_ANNOTATION),
            "u",
        ),
        (
            "T-MIR-N10: the object has our managed-by label",
            |endpoints, _| {
                endpoints.metadata.labels = Some([(well_known::MANAGED_BY_LABEL.into(), "someone".into())].into());
            },
            "",
        ),
        (
            "T-MIR-N16: an address type that is not mirrored",
            |_, slice| slice.address_type = Ok(AddressType::Fqdn),
            "cd",
        ),
    ];
    for (id, change, expected) in cases {
        let mut endpoints = endpoints("10.0.0.1@pod-1 :http/80");
        let mut slices = stored("10.0.0.1@pod-1 :http/80");
        change(&mut endpoints, &mut slices[0]);
        let plan = planned(&endpoints, &slices, 1000);
        assert_eq!(writes(&plan), expected, "{id}");
        if expected == "u" {
            assert_eq!(updated(&plan).metadata.annotations, Some([].into()), "{id}");
        }
    }
}

/// The object has no addresses, and a slice of ours has an unknown address type (T-MIR-16, M68).
#[test]
fn t_mir_16_a_slice_of_an_unknown_address_type_is_deleted() {
    let mut slices = stored("10.0.0.1 :80");
    slices[0].address_type = Err(slice_core::UnknownAddressType(String::new()));
    assert_eq!(writes(&planned(&endpoints(" :80"), &slices, 1000)), "d");
}

/// An update keeps foreign finalizers and owner references (M94, W24) and removes foreign annotations (M83).
#[test]
fn m94_an_update_keeps_foreign_finalizers_and_owners() {
    let mut slices = stored("10.0.0.1 :80");
    let metadata = &mut slices[0].metadata;
    let before = metadata.annotations.clone();
    metadata.finalizers = Some(vec!["example.com/theirs".into()]);
    metadata.resource_version = Some("7".into());
    let owner = json!({"apiVersion": "v1", "kind": "Theirs", "name": "a", "uid": "b"});
    let owners = metadata.owner_references.as_mut().unwrap();
    owners.push(serde_json::from_value(owner).unwrap());
    let mut expected = metadata.clone();
    annotate(&mut slices[0], "foo");
    expected.annotations = before;
    let plan = planned(&endpoints("10.0.0.2 :80"), &slices, 1000);
    assert_eq!(writes(&plan), "u");
    assert_eq!(updated(&plan).metadata, expected);
}

/// One of two desired slices exists: empty, different or equal (T-MIR-35…37, T-GMIR-16…18).
#[test]
fn t_mir_35_to_37_one_slice_exists() {
    let first = || stored("10.0.0.1@pod-1 10.0.0.2@pod-2 :a/80 b/443");
    let mut empty = first();
    empty[0].endpoints.clear();
    let mut different = first();
    different[0].endpoints[0]
        .addresses
        .push(Address::from_canonical("10.0.0.3"));
    different[0].endpoints[1].conditions = Conditions::default();
    for (id, existing, expected) in [
        ("T-MIR-35, T-GMIR-16", empty, "2/2/5 +5 ~0 -0 cu"),
        ("T-MIR-36, T-GMIR-17", different, "2/2/5 +4 ~1 -1 cu"),
        ("T-MIR-37, T-GMIR-18", first(), "2/2/5 +3 ~0 -0 c"),
    ] {
        assert_eq!(
            summary(&planned(&endpoints(TWO_AND_THREE), &existing, 1000)),
            expected,
            "{id}"
        );
    }
}

/// Slices without addresses are deleted; there is no placeholder slice (T-MIR-16, M67, M82, M106).
#[test]
fn t_mir_16_slices_without_addresses_are_deleted() {
    for (id, before, after) in [
        ("no addresses", "10.0.0.1 :http/80", " :http/80"),
        ("none of a family", "10.0.0.1 fd00::1 :http/80", "10.0.0.1 :http/80"),
    ] {
        for endpoints_before in [1, 0] {
            let mut existing = stored(before);
            existing.last_mut().unwrap().endpoints.truncate(endpoints_before);
            let plan = planned(&endpoints(after), &existing, 1000);
            assert_eq!(writes(&plan), "d", "{id}");
        }
    }
}

/// Slices of other ports are reused within their address family (M98, M99, T-MIR-54…60, T-GREC-01…07, T-MIR-N01, T-GMIR-X1,
/// G26, D1).
#[test]
fn t_mir_54_to_60_slices_are_reused() {
    for (id, before, after, expected) in [
        ("T-MIR-54, T-GREC-01", "", "", ""),
        ("T-MIR-55, T-GREC-02", "10.2.3.4 :80", "10.1.2.3 :90", "u"),
        (
            "T-MIR-56, T-GREC-03",
            "10.3.4.5 :80; 10.9.9.9 :p/70",
            "10.1.2.3 :90; 10.2.3.4 :p/70",
            "uu",
        ),
        (
            "T-MIR-57, T-GREC-04",
            "10.2.3.4 :80",
            "10.1.2.3 :90; 10.1.2.4 :p/91",
            "cu",
        ),
        (
            "T-MIR-58, T-GREC-05",
            "10.2.3.4 :80; 10.2.3.5 :p/81",
            "10.1.2.3 :90",
            "ud",
        ),
        (
            "T-MIR-59, T-GREC-06",
            "10.2.3.4 fd00::1 :80",
            "10.1.2.3 fd00::2 :90",
            "uu",
        ),
        ("T-MIR-60, T-GREC-07", "fd00::1 :80", "10.1.2.3 :90", "cd"),
        ("T-MIR-N01, T-GMIR-X1", "10.2.3.4 :80", "10.1.2.3 fd00::2 :90", "cu"),
        ("T-GMIR-X1", "fd00::1 :80", "10.1.2.3 fd00::2 :90", "cu"),
    ] {
        let existing = stored(before);
        let plan = planned(&endpoints(after), &existing, 1000);
        assert_eq!(writes(&plan), expected, "{id}");
        for write in &plan.writes {
            if let Operation::Update(to) = &write.operation {
                let from = existing
                    .iter()
                    .find(|from| from.metadata.name == to.metadata.name)
                    .unwrap();
                assert_eq!(from.address_type, to.address_type, "{id}");
            }
        }
    }
}

/// A terminating slice with a finalizer is not written, and another one is created (T-MIR-N08, D8).
#[test]
fn t_mir_n08_a_terminating_slice_is_replaced() {
    let mut existing = stored("10.0.0.1 :80");
    existing[0].metadata.finalizers = Some(vec!["example.com/hold".into()]);
    existing[0].metadata.deletion_timestamp = serde_json::from_str("\"2024-01-02T03:04:05Z\"").unwrap();
    let plan = planned(&endpoints("10.0.0.1 10.0.0.2 :80"), &existing, 1000);
    let [new] = &created(&plan)[..] else { panic!("{plan:?}") };
    assert_eq!(new.endpoints.len(), 2);
    assert_ne!(new.metadata.name, existing[0].metadata.name);
}

/// An object whose first subset has these ports.
fn with_ports(subsets: &str, ports: Vec<EndpointPort>) -> Endpoints {
    let mut endpoints = endpoints(subsets);
    endpoints.subsets.as_mut().unwrap()[0].ports = Some(ports);
    endpoints
}

/// Endpoints whose ports become invalid stay published with the old ports, and the plan reports them. The other subset is
/// updated, and so are they once their ports are valid (I4, F25).
#[test]
fn f25_a_subset_whose_ports_become_invalid_keeps_its_slices() {
    let quic = EndpointPort {
        port: 80,
        protocol: Some("QUIC".into()),
        ..EndpointPort::default()
    };
    for (ports, expected_reason) in [
        (many_ports(20_001, 0), InvalidPorts::TooMany(20_001)),
        (vec![quic], InvalidPorts::Protocol("QUIC".into())),
    ] {
        let mut slices = stored("10.0.0.1 10.0.0.2 fd00::1 :a/80; 10.0.1.1 :b/81");
        let mut expected = slices.clone();
        let invalid = with_ports("10.0.0.1 10.0.0.2 fd00::1 :; 10.0.1.1 10.0.1.2 :b/81", ports);
        let plan = planned(&invalid, &slices, 1000);
        let rejected = plan.rejected.iter().map(|rejected| match rejected {
            Rejected::Group {
                address_type,
                endpoints,
                reason,
                ..
            } => (*address_type, *endpoints, reason),
            other => panic!("{other:?}"),
        });
        assert_eq!(
            rejected.collect::<Vec<_>>(),
            [
                (AddressType::IPv4, 2, &expected_reason),
                (AddressType::IPv6, 1, &expected_reason)
            ]
        );
        assert_eq!(writes(&plan), "u");
        let valid = updated(&plan).clone();
        assert_eq!(valid.endpoints.len(), 2);
        let index = expected.iter().position(|slice| slice.ports == valid.ports).unwrap();
        expected[index] = valid;
        plan.writes[0].operation.apply_to(&mut slices);
        assert_eq!(slices, expected, "the other slices are unchanged");
        assert_eq!(writes(&planned(&invalid, &slices, 1000)), "");
        let corrected = endpoints("10.0.0.1 10.0.0.2 fd00::1 :a/90; 10.0.1.1 10.0.1.2 :b/81");
        assert_eq!(writes(&planned(&corrected, &slices, 1000)), "uu");
    }
}

/// The port limit applies to each slice, not to all slices that ports of one name are split over (D3, F25).
#[test]
fn f25_the_port_limit_applies_per_slice() {
    let plan = planned(&with_ports("10.0.0.1 :", many_ports(19_999, 2)), &[], 1000);
    assert_eq!((summary(&plan).as_str(), plan.rejected), ("2/2/2 +2 ~0 -0 cc", vec![]));
}
