//! Slice sets: partitions, owners of one name, and deletion of a set.

use std::collections::BTreeSet;

use serde_json::json;
use slice_core::{AddressType, CompactSlice, Endpoint, PortMapKey, SliceTracker, SliceVersion};
use slice_reconciler::{
    Operation, Owner, Partition, Plan,
    hints::{HintMode, HintResult, TopologyCache},
    plan, plan_deletion,
};

use crate::{
    fixtures::{at, named_port, pods, port},
    harness::{Harness, addresses, apply, order},
};

const CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";
const EAST: [(&str, &str); 1] = [(CLUSTER, "east")];
const WEST: [(&str, &str); 1] = [(CLUSTER, "west")];

fn import<'a>(partition: &'a [(&'a str, &'a str)], addresses: &[&str]) -> Harness<'a> {
    let mut harness = Harness::of(&port(80), addresses.iter().map(|address| at(address)));
    harness.owner = Owner {
        api_version: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceImport",
        ..harness.owner
    };
    harness.partition = Partition(partition);
    harness.options.placeholder = false;
    harness
}

fn in_partition(slices: &[CompactSlice], partition: Partition<'_>) -> Vec<String> {
    let slices: Vec<CompactSlice> = slices
        .iter()
        .filter(|slice| partition.contains(slice))
        .cloned()
        .collect();
    addresses(&slices)
}

/// One owner with two clusters has two independent sets, even with equal endpoints (T-GX-12, G1, G68).
#[test]
fn t_gx_12_sets_of_one_owner_are_independent() {
    let (east, west) = (Partition(&EAST), Partition(&WEST));
    let mut harness = import(&EAST, &["10.0.0.1", "10.0.0.2"]);
    assert_eq!(order(&harness.sync()), "c");
    let mut harness = import(&WEST, &["10.0.0.1"]).with(harness.existing);
    assert_eq!(order(&harness.sync()), "c");
    let names: BTreeSet<_> = harness.existing.iter().map(|slice| &slice.metadata.name).collect();
    assert_eq!(names.len(), 2);
    assert_eq!(in_partition(&harness.existing, east), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(in_partition(&harness.existing, west), ["10.0.0.1"]);
    assert_eq!(harness.plan().writes, []);
    // No desired endpoints in one set: the other does not change.
    let mut harness = import(&WEST, &[]).with(harness.existing);
    assert_eq!(order(&harness.sync()), "d");
    assert_eq!(addresses(&harness.existing), ["10.0.0.1", "10.0.0.2"]);
    let harness = import(&EAST, &["10.0.0.1", "10.0.0.2"]).with(harness.existing);
    assert_eq!(harness.plan().writes, []);
}

/// Names depend on the partition, in any order of its labels. Every slice has these labels.
#[test]
fn names_depend_on_the_partition() {
    let name = |partition: &[(&str, &str)]| {
        let harness = import(partition, &["10.0.0.1"]);
        let slice = apply(&harness.plan(), &[]).swap_remove(0);
        assert!(Partition(partition).contains(&slice));
        slice.metadata.name.unwrap()
    };
    assert_ne!(name(&EAST), name(&WEST));
    assert_ne!(name(&[]), name(&EAST));
    assert_eq!(name(&[("a", "1"), ("b", "2")]), name(&[("b", "2"), ("a", "1")]));
    assert_ne!(name(&[("a", "1"), ("b", "2")]), name(&[("a", "2"), ("b", "1")]));
    assert_ne!(name(&[("a", "b")]), name(&[("a", ""), ("b", "")]));
}

/// Names depend on the content of ports, not on their memory address (T-HASH-01, T-HASH-02, T-CUT-51, T-CUT-52, T-MIR-81,
/// T-MIR-82).
#[test]
fn t_hash_names_are_a_function_of_content() {
    let name = |ports: &PortMapKey| {
        let plan = Harness::of(ports, pods(0..1)).plan();
        apply(&plan, &[]).swap_remove(0).metadata.name.unwrap()
    };
    let ports = |app_protocol: &str| {
        let mut port = named_port("a", 80);
        port.app_protocol = Some(app_protocol.into());
        PortMapKey::new([port, named_port("b", 81)])
    };
    let first = name(&ports("http"));
    for _ in 0..100 {
        assert_eq!(name(&ports("http")), first);
    }
    assert_ne!(name(&ports("h2c")), first);
}

/// Deletes a partition for all owners, each slice with preconditions. Other and terminating slices are skipped (M105,
/// T-GX-12, G59, G73, G74, I8).
#[test]
fn a_set_or_a_partition_is_deleted_with_preconditions() {
    let slice = |name: &str, cluster: &str, terminating: bool| {
        let deletion = terminating.then_some("2024-01-02T03:04:05Z");
        let slice = json!({
            "metadata": {
                "namespace": format!("ns-{name}"), "name": name, "uid": format!("uid-{name}"), "resourceVersion": "7",
                "labels": {CLUSTER: cluster}, "deletionTimestamp": deletion,
            },
            "addressType": "IPv4",
        });
        CompactSlice::from(&serde_json::from_value(slice).unwrap())
    };
    let mut slices = vec![
        slice("c", "west", false),
        slice("b", "east", false),
        slice("a", "west", false),
        slice("d", "west", true),
    ];
    let deleted = |plan: &Plan| -> Vec<String> {
        let deletion = |write: &slice_reconciler::Write| match &write.operation {
            Operation::Delete(it) => {
                assert_eq!(
                    (it.uid.clone(), it.resource_version.as_deref()),
                    (Some(format!("uid-{}", it.name)), Some("7"))
                );
                assert_eq!(it.namespace, format!("ns-{}", it.name));
                it.name.clone()
            }
            other => panic!("{other:?}"),
        };
        plan.writes.iter().map(deletion).collect()
    };
    let west = plan_deletion(&slices, Partition(&WEST));
    assert_eq!(deleted(&west), ["a", "c"]);
    assert_eq!(deleted(&plan_deletion(&slices, Partition::default())), ["a", "b", "c"]);
    slices.reverse();
    assert_eq!(plan_deletion(&slices, Partition(&WEST)), west);
}

/// A Service and an `EndpointSelector` of the same name in one namespace have separate slices, expectations, metrics and
/// hints (T-GX-11, G1).
#[test]
fn t_gx_11_owners_of_one_name_are_independent() {
    let kinds = ["Service", "EndpointSelector"];
    let mut topology = TopologyCache::default();
    assert_eq!(topology.set_zones([("a", 1), ("b", 1)]), []);
    let mut tracker = SliceTracker::new();
    let zoned = |n: usize, zone: &str| Endpoint {
        zone: Some(zone.into()),
        ..crate::fixtures::pod(n, true)
    };
    let mut names = BTreeSet::new();
    for (kind, uid, endpoints) in [("Service", "1", 2), ("EndpointSelector", "2", 4)] {
        let desired = (0..endpoints).map(|n| zoned(n, if n % 2 == 0 { "a" } else { "b" }));
        let mut harness = Harness::of(&port(80), desired);
        harness.owner = Owner {
            kind,
            uid,
            ..harness.owner
        };
        let mut request = harness.request();
        request.hints = Some(HintMode::Auto);
        let key = (kind, "ns", "foo");
        request.topology = Some(topology.entry(&key));
        let plan = plan(request, &harness.options).unwrap();
        assert_eq!(plan.stats[0].desired_endpoints, endpoints);
        let event = plan.hints[0].event.as_ref().unwrap();
        assert_eq!(
            (plan.hints[0].result, event.reason),
            (HintResult::Topology(Ok(())), "TopologyAwareHintsEnabled")
        );
        let slice = apply(&plan, &[]).swap_remove(0);
        assert!(names.insert(slice.metadata.name));
        let ticket = tracker.begin_write((kind, "ns", "foo"));
        let version = SliceVersion {
            uid,
            generation: 1,
            terminating: false,
        };
        tracker.finish_write(ticket, version);
    }
    assert_eq!(topology.status().count(), 2);
    topology.forget(&(kinds[0], "ns", "foo"));
    assert_eq!(topology.status().count(), 1);
    let known = |kind, uid| tracker.has(&(kind, "ns", "foo"), uid);
    assert_eq!(
        (known(kinds[0], "1"), known(kinds[0], "2"), known(kinds[1], "2")),
        (true, false, true)
    );
    assert!(tracker.stale(&(kinds[1], "ns", "foo"), []) && !tracker.stale(&(kinds[1], "ns", "bar"), []));
}

/// Existing slices outside the partition only reserve their names (G12).
#[test]
fn slices_outside_the_partition_only_reserve_names() {
    let harness = import(&EAST, &["10.0.0.1"]);
    let slices = apply(&harness.plan(), &[]);
    let mut outside = slices.clone();
    outside[0]
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert(CLUSTER.into(), "west".into());
    outside[0].address_type = Ok(AddressType::Fqdn);
    let plan = harness.clone().with(outside).plan();
    assert_eq!(order(&plan), "c");
    assert_ne!(apply(&plan, &[])[0].metadata.name, slices[0].metadata.name);
}
