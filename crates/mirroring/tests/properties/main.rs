//! What holds for whatever Endpoints object there is: properties over random objects.
//!
//! The cases are the same on every run; `.cargo/config.toml` says how to see others.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod canonical;
mod objects;

use std::{collections::BTreeSet, num::NonZeroUsize};

use k8s_openapi::api::core::v1::Endpoints;
use mirroring::{AddressSkipReason, Desired, Metadata, SkippedEntry, Subsets};
use proptest::prelude::*;
use slice_core::{AddressType, CompactSlice, Endpoint, EndpointSource, Port, PortMapKey};
use slice_reconciler::{
    Annotations, MetadataPolicy, Operation, Owner, Partition, Plan, PlanRequest, TriggerTime, plan,
};

use self::{
    canonical::{canonical, validate},
    objects::endpoints,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// M50…M57: the order of subsets, addresses and ports does not matter.
    #[test]
    fn m57_the_order_within_an_object_does_not_matter(mut written in endpoints(), max in maxima(), seed in any::<u64>()) {
        let answer = Answer::of(Subsets::read(&written).desired(max));
        let mut rng = fastrand::Rng::with_seed(seed);
        for subset in written.subsets.iter_mut().flatten() {
            subset.addresses.iter_mut().for_each(|addresses| rng.shuffle(addresses));
            subset.not_ready_addresses.iter_mut().for_each(|addresses| rng.shuffle(addresses));
            subset.ports.iter_mut().for_each(|ports| rng.shuffle(ports));
        }
        written.subsets.iter_mut().for_each(|subsets| rng.shuffle(subsets));
        prop_assert_eq!(Answer::of(Subsets::read(&written).desired(max)), answer);
    }

    /// M57, M67, D3: the groups are those of the canonical subsets, one of each family, in each port names only once; together
    /// the groups of a subset have each of its ports once.
    #[test]
    fn m67_groups_are_canonical_subsets(written in endpoints()) {
        let subsets = Subsets::read(&written);
        let groups = subsets.desired(NonZeroUsize::MAX).groups;
        let mut ports: Vec<Port> = Vec::new();
        for families in groups.chunks(2) {
            prop_assert_eq!([families[0].address_type, families[1].address_type], [AddressType::IPv4, AddressType::IPv6]);
            prop_assert_eq!(&families[0].ports, &families[1].ports);
            let of_group = families[0].ports.ports();
            let names: BTreeSet<_> = of_group.iter().map(|port| &port.name).collect();
            prop_assert_eq!(names.len(), of_group.len(), "a name is there twice");
            ports.extend(of_group.iter().cloned());
        }
        let keys: BTreeSet<_> = groups.iter().map(|group| (group.address_type, &group.ports)).collect();
        prop_assert_eq!(keys.len(), groups.len(), "a group is there twice");
        ports.sort();
        let expected: Vec<Port> = canonical(&written).into_values().flatten().flatten().collect::<BTreeSet<_>>().into_iter().collect();
        prop_assert_eq!(ports, expected);
    }

    /// M69…M71, M75, M76: of every canonical subset as many addresses are mirrored as can be and may be; all others are counted,
    /// and named one by one.
    #[test]
    fn m71_every_address_is_mirrored_or_counted(written in endpoints(), max in maxima()) {
        let subsets = Subsets::read(&written);
        let desired = subsets.desired(max);
        let skipped = canonical(&written).keys().map(|members| members.len() - validate(members).min(max.get())).sum::<usize>();
        prop_assert_eq!(desired.skipped, skipped);
        let reasons = desired.skipped_entries.iter().filter_map(|skipped_entries| match skipped_entries {
            SkippedEntry::Address { reason, .. } => Some(*reason),
            SkippedEntry::Port { .. } | SkippedEntry::SameName { .. } => None,
        });
        let reasons: Vec<AddressSkipReason> = reasons.collect();
        let surplus = reasons.iter().filter(|reason| **reason == AddressSkipReason::LimitExceeded).count();
        prop_assert_eq!((reasons.len(), reasons.len() - surplus), (desired.skipped, desired.invalid));
        let told: Vec<&str> = desired.events.iter().map(|event| event.reason).collect();
        let expected = [("InvalidIPAddress", desired.invalid > 0), ("TooManyAddressesToMirror", surplus > 0)];
        let expected: Vec<&str> = expected.into_iter().filter(|(_, told)| *told).map(|(reason, _)| reason).collect();
        prop_assert_eq!(told, expected);
    }

    /// M62, M63, M69: a group holds at most so many endpoints, both families together, each once and all of the right family.
    #[test]
    fn m69_no_group_is_above_the_maximum(written in endpoints(), max in maxima()) {
        let subsets = Subsets::read(&written);
        for families in subsets.desired(max).groups.chunks(2) {
            prop_assert!(families.iter().map(|group| group.endpoints.len()).sum::<usize>() <= max.get());
        }
        for ((address_type, _), endpoints) in Answer::of(subsets.desired(max)).groups {
            for endpoint in endpoints {
                prop_assert_eq!(endpoint.addresses.len(), 1);
                prop_assert_eq!(endpoint.addresses[0].address_type(), address_type);
            }
        }
    }

    /// F25: arbitrary objects, all the way into a plan, and never a panic; the objects stay as they are.
    #[test]
    fn f25_arbitrary_objects_never_panic(before in endpoints(), now in endpoints(), max in maxima()) {
        let untouched = now.clone();
        let existing: Vec<CompactSlice> = written(planned(&before, &[], max)).collect();
        for slice in written(planned(&now, &existing, max)) {
            prop_assert!(slice.endpoints.len() <= max.get());
        }
        prop_assert_eq!(now, untouched);
    }
}

fn maxima() -> impl Strategy<Value = NonZeroUsize> {
    (1..5_usize).prop_map(|max| NonZeroUsize::new(max).unwrap())
}

/// What is wanted, in a form that can be compared.
#[derive(Debug, PartialEq)]
struct Answer {
    groups: Vec<((AddressType, PortMapKey), Vec<Endpoint>)>,
    skipped: usize,
    invalid: usize,
    events: Vec<String>,
    skipped_entries: Vec<String>,
}

impl Answer {
    fn of(desired: Desired<'_>) -> Self {
        let groups = desired.groups.into_iter().map(|group| {
            let endpoints = group.endpoints.into_sorted();
            let endpoints = endpoints.iter().map(EndpointSource::to_endpoint).collect();
            ((group.address_type, group.ports), endpoints)
        });
        Self {
            groups: groups.collect(),
            skipped: desired.skipped,
            invalid: desired.invalid,
            events: desired.events.into_iter().map(|event| event.message).collect(),
            skipped_entries: desired.skipped_entries.iter().map(SkippedEntry::to_string).collect(),
        }
    }
}

fn planned(endpoints: &Endpoints, existing: &[CompactSlice], max: NonZeroUsize) -> Plan {
    let subsets = Subsets::read(endpoints);
    let Metadata { labels, annotations } = Metadata::of(endpoints);
    let policy = MetadataPolicy {
        labels,
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

fn written(plan: Plan) -> impl Iterator<Item = CompactSlice> {
    plan.writes.into_iter().filter_map(|write| match write.operation {
        Operation::Create(slice) | Operation::Update(slice) => Some(slice),
        Operation::Delete(_) => None,
    })
}
