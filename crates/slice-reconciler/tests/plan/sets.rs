//! Slice sets: who shares slices with whom, and how a set ends.

use std::collections::BTreeSet;

use serde_json::json;
use slice_core::{AddressType, CompactSlice, Endpoint, PortMapKey, SliceTracker, SliceVersion};
use slice_reconciler::{
    Operation, Owner, Partition, Plan,
    hints::{HintMode, HintResult, TopologyCache},
    plan, plan_deletion,
};

use crate::support::{Ask, addresses, apply, at, named_port, order, pods, port};

const CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";
const EAST: [(&str, &str); 1] = [(CLUSTER, "east")];
const WEST: [(&str, &str); 1] = [(CLUSTER, "west")];

fn import<'a>(partition: &'a [(&'a str, &'a str)], addresses: &[&str]) -> Ask<'a> {
    let mut ask = Ask::of(&port(80), addresses.iter().map(|address| at(address)));
    ask.owner = Owner {
        api_version: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceImport",
        ..ask.owner
    };
    ask.partition = Partition(partition);
    ask.options.placeholder = false;
    ask
}

fn in_partition(slices: &[CompactSlice], partition: Partition<'_>) -> Vec<String> {
    let slices: Vec<CompactSlice> = slices.iter().filter(|slice| partition.holds(slice)).cloned().collect();
    addresses(&slices)
}

/// T-GX-12, G1, G68: one owner, two clusters: two sets that know nothing of each other, even with the same endpoints.
#[test]
fn t_gx_12_sets_of_one_owner_are_independent() {
    let (east, west) = (Partition(&EAST), Partition(&WEST));
    let mut ask = import(&EAST, &["10.0.0.1", "10.0.0.2"]);
    assert_eq!(order(&ask.sync()), "c");
    let mut ask = import(&WEST, &["10.0.0.1"]).with(ask.existing);
    assert_eq!(order(&ask.sync()), "c");
    let names: BTreeSet<_> = ask.existing.iter().map(|slice| &slice.metadata.name).collect();
    assert_eq!(names.len(), 2);
    assert_eq!(in_partition(&ask.existing, east), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(in_partition(&ask.existing, west), ["10.0.0.1"]);
    assert_eq!(ask.plan().writes, []);
    // Nothing wanted in one: the other is not touched.
    let mut ask = import(&WEST, &[]).with(ask.existing);
    assert_eq!(order(&ask.sync()), "d");
    assert_eq!(addresses(&ask.existing), ["10.0.0.1", "10.0.0.2"]);
    let ask = import(&EAST, &["10.0.0.1", "10.0.0.2"]).with(ask.existing);
    assert_eq!(ask.plan().writes, []);
}

/// Names are a function of the partition too, however its labels are ordered; the labels are on every slice.
#[test]
fn partitions_have_names_of_their_own() {
    let name = |partition: &[(&str, &str)]| {
        let ask = import(partition, &["10.0.0.1"]);
        let slice = apply(&ask.plan(), &[]).swap_remove(0);
        assert!(Partition(partition).holds(&slice));
        slice.metadata.name.unwrap()
    };
    assert_ne!(name(&EAST), name(&WEST));
    assert_ne!(name(&[]), name(&EAST));
    assert_eq!(name(&[("a", "1"), ("b", "2")]), name(&[("b", "2"), ("a", "1")]));
    assert_ne!(name(&[("a", "1"), ("b", "2")]), name(&[("a", "2"), ("b", "1")]));
    assert_ne!(name(&[("a", "b")]), name(&[("a", ""), ("b", "")]));
}

/// T-HASH-01, T-HASH-02, T-CUT-51, T-CUT-52, T-MIR-81, T-MIR-82: names are a function of what ports are, not of where they are kept.
#[test]
fn t_hash_names_are_a_function_of_content() {
    let name = |ports: &PortMapKey| {
        let plan = Ask::of(ports, pods(0..1)).plan();
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

/// M105, T-GX-12 (deletion), G59, G73, G74, I8: a partition ends for all owners, each slice as it was seen; others are
/// not touched, and what is on its way out needs nothing more.
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

/// T-GX-11, G1: a Service and an `EndpointSelector` of the same name in one namespace: slices, expectations, metrics and hints are
/// each their own.
#[test]
fn t_gx_11_owners_of_one_name_are_independent() {
    let kinds = ["Service", "EndpointSelector"];
    let mut topology = TopologyCache::default();
    assert_eq!(topology.set_zones([("a", 1), ("b", 1)]), []);
    let mut tracker = SliceTracker::new();
    let zoned = |n: usize, zone: &str| Endpoint {
        zone: Some(zone.into()),
        ..crate::support::pod(n, true)
    };
    let mut names = BTreeSet::new();
    for (kind, uid, endpoints) in [("Service", "1", 2), ("EndpointSelector", "2", 4)] {
        let wanted = (0..endpoints).map(|n| zoned(n, if n % 2 == 0 { "a" } else { "b" }));
        let mut ask = Ask::of(&port(80), wanted);
        ask.owner = Owner { kind, uid, ..ask.owner };
        let mut request = ask.request();
        request.hints = Some(HintMode::Auto);
        let key = (kind, "ns", "foo");
        request.topology = Some(topology.entry(&key));
        let plan = plan(request, &ask.options).unwrap();
        assert_eq!(plan.stats[0].endpoints, endpoints);
        let event = plan.hints[0].event.as_ref().unwrap();
        assert_eq!(
            (plan.hints[0].verdict, event.reason),
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
    assert_eq!(topology.answers().count(), 2);
    topology.forget(&(kinds[0], "ns", "foo"));
    assert_eq!(topology.answers().count(), 1);
    let known = |kind, uid| tracker.has(&(kind, "ns", "foo"), uid);
    assert_eq!(
        (known(kinds[0], "1"), known(kinds[0], "2"), known(kinds[1], "2")),
        (true, false, true)
    );
    assert!(tracker.stale(&(kinds[1], "ns", "foo"), []) && !tracker.stale(&(kinds[1], "ns", "bar"), []));
}

/// G12: what the caller lists beyond the partition is only a list of names in use.
#[test]
fn slices_outside_the_partition_are_only_names() {
    let ask = import(&EAST, &["10.0.0.1"]);
    let slices = apply(&ask.plan(), &[]);
    let mut elsewhere = slices.clone();
    elsewhere[0]
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert(CLUSTER.into(), "west".into());
    elsewhere[0].address_type = Ok(AddressType::Fqdn);
    let plan = ask.clone().with(elsewhere).plan();
    assert_eq!(order(&plan), "c");
    assert_ne!(apply(&plan, &[])[0].metadata.name, slices[0].metadata.name);
}
