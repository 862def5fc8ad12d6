//! Property tests over random Endpoints objects.
//!
//! The cases are the same on every run; `.cargo/config.toml` explains how to run others.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod canonical;
mod strategies;

use std::{collections::BTreeSet, num::NonZeroUsize};

use k8s_openapi::api::core::v1::Endpoints;
use mirroring::{AddressSkipReason, Desired, Metadata, SkippedEntry, Subsets};
use proptest::prelude::*;
use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSource, Port, PortMapKey};
use slice_reconciler::{
    Annotations, MetadataPolicy, Operation, Owner, Partition, Plan, PlanRequest, TriggerTime, plan,
};

use self::{
    canonical::{canonical, count_valid},
    strategies::endpoints,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The order of subsets, addresses and ports does not matter (M50…M57).
    #[test]
    fn m57_the_order_within_an_object_does_not_matter(mut object in endpoints(), max in maxima(), seed in any::<u64>()) {
        let expected = Comparable::from(Subsets::read(&object).desired(max));
        let mut rng = fastrand::Rng::with_seed(seed);
        for subset in object.subsets.iter_mut().flatten() {
            subset.addresses.iter_mut().for_each(|addresses| rng.shuffle(addresses));
            subset.not_ready_addresses.iter_mut().for_each(|addresses| rng.shuffle(addresses));
            subset.ports.iter_mut().for_each(|ports| rng.shuffle(ports));
        }
        object.subsets.iter_mut().for_each(|subsets| rng.shuffle(subsets));
        prop_assert_eq!(Comparable::from(Subsets::read(&object).desired(max)), expected);
    }

    /// Each canonical subset gives one group per family and list of ports. Port names are unique in a group, and each port is in
    /// one group per family (M57, M67, D3).
    #[test]
    fn m67_groups_equal_canonical_subsets(object in endpoints()) {
        let subsets = Subsets::read(&object);
        let groups = subsets.desired(NonZeroUsize::MAX).groups;
        let mut ports: Vec<Port> = Vec::new();
        for families in groups.chunks(2) {
            prop_assert_eq!([families[0].address_type, families[1].address_type], [AddressType::IPv4, AddressType::IPv6]);
            prop_assert_eq!(&families[0].ports, &families[1].ports);
            let group_ports = families[0].ports.ports();
            let names: BTreeSet<_> = group_ports.iter().map(|port| &port.name).collect();
            prop_assert_eq!(names.len(), group_ports.len(), "duplicate port name");
            ports.extend(group_ports.iter().cloned());
        }
        let keys: BTreeSet<_> = groups.iter().map(|group| (group.address_type, &group.ports)).collect();
        prop_assert_eq!(keys.len(), groups.len(), "duplicate group");
        ports.sort();
        let expected: Vec<Port> = canonical(&object).into_values().flatten().flatten().collect::<BTreeSet<_>>().into_iter().collect();
        prop_assert_eq!(ports, expected);
    }

    /// Of every canonical subset, valid addresses are mirrored up to the limit; all others are counted and reported one by one
    /// (M69…M71, M75, M76).
    #[test]
    fn m71_every_address_is_mirrored_or_counted(object in endpoints(), max in maxima()) {
        let subsets = Subsets::read(&object);
        let desired = subsets.desired(max);
        let skipped = canonical(&object).keys().map(|members| members.len() - count_valid(members).min(max.get())).sum::<usize>();
        prop_assert_eq!(desired.skipped_addresses, skipped);
        let reasons = desired.skipped_entries.iter().filter_map(|entry| match entry {
            SkippedEntry::Address { reason, .. } => Some(*reason),
            SkippedEntry::Port { .. } | SkippedEntry::SameName { .. } => None,
        });
        let reasons: Vec<AddressSkipReason> = reasons.collect();
        let excess = reasons.iter().filter(|reason| **reason == AddressSkipReason::LimitExceeded).count();
        prop_assert_eq!((reasons.len(), reasons.len() - excess), (desired.skipped_addresses, desired.invalid_addresses));
        let warnings: Vec<&str> = desired.warnings.iter().map(|warning| warning.reason).collect();
        let expected = [("InvalidIPAddress", desired.invalid_addresses > 0), ("TooManyAddressesToMirror", excess > 0)];
        let expected: Vec<&str> = expected.into_iter().filter(|(_, is_expected)| *is_expected).map(|(reason, _)| reason).collect();
        prop_assert_eq!(warnings, expected);
    }

    /// The groups of both families together have at most `max` endpoints, each with one address of the right family (M62, M63,
    /// M69).
    #[test]
    fn m69_no_group_exceeds_the_maximum(object in endpoints(), max in maxima()) {
        let subsets = Subsets::read(&object);
        for families in subsets.desired(max).groups.chunks(2) {
            prop_assert!(families.iter().map(|group| group.endpoints.len()).sum::<usize>() <= max.get());
        }
        for ((address_type, _), endpoints) in Comparable::from(subsets.desired(max)).groups {
            for endpoint in endpoints {
                prop_assert_eq!(endpoint.addresses.len(), 1);
                prop_assert_eq!(endpoint.addresses[0].address_type(), address_type);
            }
        }
    }

    /// Planning arbitrary objects never panics and does not modify the object (F25).
    #[test]
    fn f25_arbitrary_objects_never_panic(before in endpoints(), after in endpoints(), max in maxima()) {
        let unchanged = after.clone();
        let existing: Vec<CompactSlice> = written_slices(planned(&before, &[], max)).collect();
        for slice in written_slices(planned(&after, &existing, max)) {
            prop_assert!(slice.endpoints.len() <= max.get());
        }
        prop_assert_eq!(after, unchanged);
    }
}

fn maxima() -> impl Strategy<Value = NonZeroUsize> {
    (1..5_usize).prop_map(|max| NonZeroUsize::new(max).unwrap())
}

/// Desired endpoints in a comparable form.
#[derive(Debug, PartialEq)]
struct Comparable {
    groups: Vec<((AddressType, PortMapKey), Vec<Endpoint>)>,
    skipped_addresses: usize,
    invalid_addresses: usize,
    warnings: Vec<String>,
    skipped_entries: Vec<String>,
}

impl From<Desired<'_>> for Comparable {
    fn from(desired: Desired<'_>) -> Self {
        let groups = desired.groups.into_iter().map(|group| {
            let endpoints = group.endpoints.into_sorted();
            let endpoints = endpoints.iter().map(EndpointSource::to_endpoint).collect();
            ((group.address_type, group.ports), endpoints)
        });
        Self {
            groups: groups.collect(),
            skipped_addresses: desired.skipped_addresses,
            invalid_addresses: desired.invalid_addresses,
            warnings: desired.warnings.into_iter().map(|warning| warning.message).collect(),
            skipped_entries: desired.skipped_entries.iter().map(SkippedEntry::to_string).collect(),
        }
    }
}

fn planned(endpoints: &Endpoints, existing: &[CompactSlice], max: NonZeroUsize) -> Plan {
    let subsets = Subsets::read(endpoints);
    let Metadata { labels, annotations } = Metadata::of(endpoints);
    let policy = MetadataPolicy {
        copied_labels: labels,
        annotations: Annotations::Replace(annotations),
        ..MetadataPolicy::default()
    };
    let request = PlanRequest {
        owner: Owner {
            api_version: "v1",
            kind: "Endpoints",
            namespace: "ns",
            name: "db",
            uid: "1",
            terminating: false,
        },
        partition: Partition::default(),
        address_types: BTreeSet::from([AddressType::IPv4, AddressType::IPv6]),
        desired: subsets.desired(max).groups,
        existing,
        metadata: &policy,
        hints: None,
        topology: None,
        trigger_time: TriggerTime::Unmanaged,
        name_prefix: "db-",
        reserved_names: &[],
    };
    let options = mirroring::reconcile_options(max);
    plan(request, &options).unwrap()
}

fn written_slices(plan: Plan) -> impl Iterator<Item = CompactSlice> {
    plan.writes.into_iter().filter_map(|write| match write.operation {
        Operation::Create(slice) | Operation::Update(slice) => Some(slice),
        Operation::Delete(_) => None,
    })
}
