//! Use cases of controllers of other projects (§11, §13 of the specification).

use std::collections::BTreeMap;

use slice_core::{AddressType, CompactSlice, Endpoint, PortMapKey, well_known};
use slice_reconciler::{MetadataPolicy, Owner, OwnerReferenceOptions, Partition, plan_deletion};

use crate::{
    fixtures::{at, map, named_port, one_per_group, port},
    harness::{Harness, addresses, apply, order},
};

const CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";
const MULTICLUSTER_NAME: &str = "multicluster.kubernetes.io/service-name";
/// The managed-by value; not that of the built-in controller.
const IMPORTER: &str = "importer.example.com";

/// Imported slices have the name of the derived Service as a copied label, so that kube-proxy routes to them.
fn import<'a>(existing: Vec<CompactSlice>) -> Harness<'a> {
    let mut harness = Harness::of(&port(80), [at("10.0.0.1")]).with(existing);
    harness.owner = Owner {
        api_version: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceImport",
        ..harness.owner
    };
    harness.partition = Partition(&[(CLUSTER, "east")]);
    harness.policy = MetadataPolicy {
        copied_labels: map(&[(well_known::SERVICE_NAME_LABEL, "derived-abc")]),
        ..MetadataPolicy::default()
    };
    harness.policy.set_owner_label(MULTICLUSTER_NAME, "svc");
    let manager = Some(IMPORTER.to_owned());
    harness
        .policy
        .managed_labels
        .insert(well_known::MANAGED_BY_LABEL.into(), manager);
    harness.options.placeholder = false;
    harness.options.owner_reference = OwnerReferenceOptions {
        controller: false,
        block_owner_deletion: true,
    };
    harness
}

fn label<'s>(slice: &'s CompactSlice, key: &str) -> Option<&'s str> {
    let labels = slice.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(key)).map(String::as_str)
}

/// An imported slice is created, ignored or updated by its labels (T-MCS-01…04, G67–G72).
#[test]
fn t_mcs_imported_slices() {
    let mut harness = import(vec![]);
    harness.sync();
    let slice = harness.existing[0].clone();
    assert_eq!(label(&slice, MULTICLUSTER_NAME), Some("svc"));
    assert_eq!(label(&slice, CLUSTER), Some("east"));
    assert_eq!(
        label(&slice, well_known::SERVICE_NAME_LABEL),
        Some("derived-abc"),
        "T-MCS-03"
    );
    let changed = |change: &dyn Fn(&mut CompactSlice)| {
        let mut slice = slice.clone();
        change(&mut slice);
        slice
    };
    let relabelled = |key: &str, value: &str| {
        changed(&|slice| drop(slice.metadata.labels.as_mut().unwrap().insert(key.into(), value.into())))
    };
    for (id, existing, expected) in [
        (
            "01: outside the partition",
            changed(&|slice| drop(slice.metadata.labels.as_mut().unwrap().remove(CLUSTER))),
            "c",
        ),
        (
            "02: terminating",
            changed(&|slice| {
                slice.metadata.deletion_timestamp = serde_json::from_str("\"2024-01-02T03:04:05Z\"").unwrap();
            }),
            "c",
        ),
        ("03: up to date", slice.clone(), ""),
        (
            "04: a wrong name",
            relabelled(well_known::SERVICE_NAME_LABEL, "wrong"),
            "u",
        ),
    ] {
        let mut harness = import(vec![existing.clone()]);
        assert_eq!(order(&harness.sync()), expected, "T-MCS-{id}");
        let last = harness.existing.last().unwrap();
        assert_eq!(
            label(last, well_known::SERVICE_NAME_LABEL),
            Some("derived-abc"),
            "T-MCS-{id}"
        );
        if expected == "c" {
            assert_eq!(harness.existing[0], existing, "T-MCS-{id}: ignored");
        }
    }
}

/// The labels and addresses of an imported slice, and its deletion with the export (T-MCS-05, without its time limit).
#[test]
fn t_mcs_05_export_and_unexport() {
    let mut harness = import(vec![]);
    harness.sync();
    assert_eq!(addresses(&harness.existing), ["10.0.0.1"]);
    let keys = [
        MULTICLUSTER_NAME,
        CLUSTER,
        well_known::SERVICE_NAME_LABEL,
        well_known::MANAGED_BY_LABEL,
    ];
    let labels = keys.map(|key| label(&harness.existing[0], key));
    assert_eq!(labels, ["svc", "east", "derived-abc", IMPORTER].map(Some));
    let deletion = plan_deletion(&harness.existing, harness.partition);
    assert_eq!(apply(&deletion, &harness.existing), []);
}

/// The endpoints of one remote cluster of a Service that clusters share.
fn shared(headless: bool, remote: Option<Endpoint>, existing: Vec<CompactSlice>) -> Harness<'static> {
    let mut harness = Harness::of(&port(80), remote).with(existing);
    harness.partition = Partition(&[(CLUSTER, "remote")]);
    harness
        .policy
        .managed_labels
        .insert(well_known::HEADLESS_LABEL.into(), headless.then(String::new));
    harness.options.placeholder = false;
    harness
}

/// The real Service is the owner, and each cluster a partition (T-CIL-01…05, G85–G89).
#[test]
fn t_cil_services_shared_among_clusters() {
    let remote = || Endpoint {
        hostname: Some("web-0".into()),
        ..at("10.9.0.1")
    };
    for (id, headless) in [("01", true), ("03", true), ("with an address", false)] {
        let mut harness = shared(headless, Some(remote()), vec![]);
        assert_eq!(order(&harness.sync()), "c", "T-CIL-{id}");
        let mut expected = map(&[
            (well_known::SERVICE_NAME_LABEL, "foo"),
            (well_known::MANAGED_BY_LABEL, "me"),
            (CLUSTER, "remote"),
        ]);
        if headless {
            expected.insert(well_known::HEADLESS_LABEL.into(), String::new());
        }
        let slice = &harness.existing[0];
        assert_eq!(slice.metadata.labels, Some(expected), "T-CIL-{id}");
        assert_eq!(slice.endpoints, [remote()], "T-CIL-{id}");
        let owner = &slice.metadata.owner_references.as_ref().unwrap()[0];
        let owner = (owner.api_version.as_str(), owner.kind.as_str(), owner.name.as_str());
        assert_eq!(owner, ("v1", "Service", "foo"), "T-CIL-{id}");
    }
    // The result does not depend on which of the local and the remote Service exists first.
    let mut first = shared(true, None, vec![]);
    assert_eq!(order(&first.sync()), "");
    let mut later = shared(true, Some(remote()), first.existing);
    later.sync();
    assert_eq!(
        later.existing,
        apply(&shared(true, Some(remote()), vec![]).plan(), &[]),
        "T-CIL-02"
    );
    // No longer shared: all slices of the partition are deleted. Remote Service deleted: likewise.
    assert_eq!(
        order(&plan_deletion(&later.existing, Partition(&[(CLUSTER, "remote")]))),
        "d",
        "T-CIL-04"
    );
    assert_eq!(order(&shared(true, None, later.existing).plan()), "d", "T-CIL-05");
}

const SOURCE: &str = "service.example.com/local-endpointslice";

/// Mirrors slices one to one: each source slice is a partition, and a label of the derived slice names it.
fn mirror(sources: &BTreeMap<&str, CompactSlice>, mut derived: Vec<CompactSlice>) -> (Vec<CompactSlice>, String) {
    let mut writes = String::new();
    let has_source = |slice: &CompactSlice| label(slice, SOURCE).is_some_and(|source| sources.contains_key(source));
    let orphans: Vec<CompactSlice> = derived.iter().filter(|slice| !has_source(slice)).cloned().collect();
    let deletion = plan_deletion(&orphans, Partition::default());
    writes += &order(&deletion);
    derived = apply(&deletion, &derived);
    for (name, source) in sources {
        let partition = [(SOURCE, *name)];
        let mirrored = source
            .ports
            .ports()
            .iter()
            .filter(|port| port.port == Some(80))
            .cloned();
        let address_type = source.address_type.clone().unwrap();
        let mut harness = Harness {
            address_types: vec![address_type],
            desired: vec![(address_type, PortMapKey::new(mirrored), source.endpoints.clone())],
            partition: Partition(&partition),
            options: one_per_group(1000),
            ..Harness::default()
        };
        harness.existing = derived;
        writes += &order(&harness.sync());
        derived = harness.existing;
    }
    (derived, writes)
}

/// Slices mirrored one to one, with port 80 only. Duplicate, orphaned, tampered and mistyped slices are deleted. Slice
/// names are at most 63 characters by construction (T-CIL-06).
#[test]
fn t_cil_06_slices_mirrored_one_to_one() {
    let source = |address: &str, address_type| {
        let ports = PortMapKey::new([named_port("a", 80), named_port("b", 81)]);
        let mut harness = Harness::of(&ports, [at(address)]);
        (harness.address_types, harness.desired[0].0) = (vec![address_type], address_type);
        apply(&harness.plan(), &[]).swap_remove(0)
    };
    let (v4, v6) = (AddressType::IPv4, AddressType::IPv6);
    let mut sources = BTreeMap::from([("keep", source("10.0.0.1", v4)), ("update", source("10.0.0.2", v4))]);
    let (derived, writes) = mirror(&sources, vec![]);
    assert_eq!(writes, "cc");
    assert!(
        derived
            .iter()
            .all(|slice| slice.ports == PortMapKey::new([named_port("a", 80)]))
    );
    assert_eq!(mirror(&sources, derived.clone()).1, "");

    sources.insert("update", source("10.0.0.3", v4));
    let (derived, writes) = mirror(&sources, derived);
    assert_eq!(
        (writes.as_str(), addresses(&derived)),
        ("u", vec!["10.0.0.1".into(), "10.0.0.3".into()])
    );

    let mut duplicate = derived.clone();
    duplicate.push(CompactSlice {
        metadata: derived[0].metadata.clone(),
        ..derived[0].clone()
    });
    duplicate[2].metadata.name = Some("zzz".into());
    assert_eq!(mirror(&sources, duplicate).1, "d");

    let mut tampered = derived.clone();
    tampered[0]
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert(SOURCE.into(), "unknown".into());
    let (repaired, writes) = mirror(&sources, tampered);
    assert_eq!((writes.as_str(), addresses(&repaired)), ("dc", addresses(&derived)));

    let mut mistyped = derived.clone();
    mistyped[0].address_type = Ok(v6);
    assert_eq!(mirror(&sources, mistyped).1, "cd");

    sources.remove("keep");
    assert_eq!(mirror(&sources, derived).1, "d");
}
