//! What controllers of other projects do, by means of this crate (§11, §13 of the specification).

use std::collections::BTreeMap;

use slice_core::{AddressType, CompactSlice, Endpoint, PortMapKey, well_known};
use slice_reconciler::{MetadataPolicy, Owner, OwnerReferenceOptions, Partition, plan_deletion};

use crate::support::{Ask, addresses, apply, at, map, named_port, one_per_group, order, port};

const CLUSTER: &str = "multicluster.kubernetes.io/source-cluster";
const MULTICLUSTER_NAME: &str = "multicluster.kubernetes.io/service-name";
/// Not the controller of the cluster's own slices.
const IMPORTER: &str = "importer.example.com";

/// A derived Service's name is put on imported slices, so that they are routed to: a label like any other, which is put right
/// when it is wrong.
fn import<'a>(existing: Vec<CompactSlice>) -> Ask<'a> {
    let mut ask = Ask::of(&port(80), [at("10.0.0.1")]).with(existing);
    ask.owner = Owner {
        api_version: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceImport",
        ..ask.owner
    };
    ask.partition = Partition(&[(CLUSTER, "east")]);
    ask.policy = MetadataPolicy {
        labels: map(&[(well_known::SERVICE_NAME_LABEL, "derived-abc")]),
        ..MetadataPolicy::default()
    };
    ask.policy.set_owner_label(MULTICLUSTER_NAME, "svc");
    let manager = Some(IMPORTER.to_owned());
    ask.policy.reserved.insert(well_known::MANAGED_BY_LABEL.into(), manager);
    ask.options.placeholder = false;
    ask.options.owner_reference = OwnerReferenceOptions {
        controller: false,
        block_owner_deletion: true,
    };
    ask
}

fn label<'s>(slice: &'s CompactSlice, key: &str) -> Option<&'s str> {
    let labels = slice.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(key)).map(String::as_str)
}

/// T-MCS-01…04, G67–G72.
#[test]
fn t_mcs_imported_slices() {
    let mut ask = import(vec![]);
    ask.sync();
    let slice = ask.existing[0].clone();
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
    for (id, stored, expected) in [
        (
            "01: not of this set",
            changed(&|slice| drop(slice.metadata.labels.as_mut().unwrap().remove(CLUSTER))),
            "c",
        ),
        (
            "02: going away",
            changed(&|slice| {
                slice.metadata.deletion_timestamp = serde_json::from_str("\"2024-01-02T03:04:05Z\"").unwrap();
            }),
            "c",
        ),
        ("03: as it should be", slice.clone(), ""),
        (
            "04: a wrong name",
            relabelled(well_known::SERVICE_NAME_LABEL, "wrong"),
            "u",
        ),
    ] {
        let mut ask = import(vec![stored.clone()]);
        assert_eq!(order(&ask.sync()), expected, "T-MCS-{id}");
        let last = ask.existing.last().unwrap();
        assert_eq!(
            label(last, well_known::SERVICE_NAME_LABEL),
            Some("derived-abc"),
            "T-MCS-{id}"
        );
        if expected == "c" {
            assert_eq!(ask.existing[0], stored, "T-MCS-{id}: ignored");
        }
    }
}

/// T-MCS-05, but for the time it takes: what a cluster that imports has to show, and that it goes with the export.
#[test]
fn t_mcs_05_an_export_and_its_end() {
    let mut ask = import(vec![]);
    ask.sync();
    assert_eq!(addresses(&ask.existing), ["10.0.0.1"]);
    let keys = [
        MULTICLUSTER_NAME,
        CLUSTER,
        well_known::SERVICE_NAME_LABEL,
        well_known::MANAGED_BY_LABEL,
    ];
    let labels = keys.map(|key| label(&ask.existing[0], key));
    assert_eq!(labels, ["svc", "east", "derived-abc", IMPORTER].map(Some));
    let ended = plan_deletion(&ask.existing, ask.partition);
    assert_eq!(apply(&ended, &ask.existing), []);
}

/// One cluster's endpoints of a Service that is shared among clusters.
fn shared(headless: bool, remote: Option<Endpoint>, existing: Vec<CompactSlice>) -> Ask<'static> {
    let mut ask = Ask::of(&port(80), remote).with(existing);
    ask.partition = Partition(&[(CLUSTER, "remote")]);
    ask.policy
        .reserved
        .insert(well_known::HEADLESS_LABEL.into(), headless.then(String::new));
    ask.options.placeholder = false;
    ask
}

/// T-CIL-01…05, G85–G89: no fakes, no wrapper: the real Service is the owner, the cluster is a partition.
#[test]
fn t_cil_services_shared_among_clusters() {
    let remote = || Endpoint {
        hostname: Some("web-0".into()),
        ..at("10.9.0.1")
    };
    for (id, headless) in [("01", true), ("03", true), ("with an address", false)] {
        let mut ask = shared(headless, Some(remote()), vec![]);
        assert_eq!(order(&ask.sync()), "c", "T-CIL-{id}");
        let mut expected = map(&[
            (well_known::SERVICE_NAME_LABEL, "foo"),
            (well_known::MANAGED_BY_LABEL, "me"),
            (CLUSTER, "remote"),
        ]);
        if headless {
            expected.insert(well_known::HEADLESS_LABEL.into(), String::new());
        }
        let slice = &ask.existing[0];
        assert_eq!(slice.metadata.labels, Some(expected), "T-CIL-{id}");
        assert_eq!(slice.endpoints, [remote()], "T-CIL-{id}");
        let owner = &slice.metadata.owner_references.as_ref().unwrap()[0];
        let owner = (owner.api_version.as_str(), owner.kind.as_str(), owner.name.as_str());
        assert_eq!(owner, ("v1", "Service", "foo"), "T-CIL-{id}");
    }
    // The Service is there before the remote one, or after it: the end is the same.
    let mut first = shared(true, None, vec![]);
    assert_eq!(order(&first.sync()), "");
    let mut later = shared(true, Some(remote()), first.existing);
    later.sync();
    assert_eq!(
        later.existing,
        apply(&shared(true, Some(remote()), vec![]).plan(), &[]),
        "T-CIL-02"
    );
    // It is no longer shared: everything goes. The remote one is gone: its endpoints go.
    assert_eq!(
        order(&plan_deletion(&later.existing, Partition(&[(CLUSTER, "remote")]))),
        "d",
        "T-CIL-04"
    );
    assert_eq!(order(&shared(true, None, later.existing).plan()), "d", "T-CIL-05");
}

const SOURCE: &str = "service.example.com/local-endpointslice";

/// Mirrors slices one to one: each source is a partition of its own, and a derived slice says which it mirrors.
fn mirror(sources: &BTreeMap<&str, CompactSlice>, mut derived: Vec<CompactSlice>) -> (Vec<CompactSlice>, String) {
    let mut writes = String::new();
    let has_source = |slice: &CompactSlice| label(slice, SOURCE).is_some_and(|source| sources.contains_key(source));
    let orphans: Vec<CompactSlice> = derived.iter().filter(|slice| !has_source(slice)).cloned().collect();
    let deletion = plan_deletion(&orphans, Partition::default());
    writes += &order(&deletion);
    derived = apply(&deletion, &derived);
    for (name, source) in sources {
        let partition = [(SOURCE, *name)];
        let kept = source
            .ports
            .ports()
            .iter()
            .filter(|port| port.port == Some(80))
            .cloned();
        let address_type = source.address_type.clone().unwrap();
        let mut ask = Ask {
            supported: vec![address_type],
            groups: vec![(address_type, PortMapKey::new(kept), source.endpoints.clone())],
            partition: Partition(&partition),
            options: one_per_group(1000),
            ..Ask::default()
        };
        ask.existing = derived;
        writes += &order(&ask.sync());
        derived = ask.existing;
    }
    (derived, writes)
}

/// T-CIL-06: slices mirrored one to one: only port 80 is agreed upon; duplicates, orphans, tampered and mistyped ones go. (Names
/// are ours: at most 63 characters by themselves.)
#[test]
fn t_cil_06_slices_mirrored_one_to_one() {
    let source = |address: &str, address_type| {
        let ports = PortMapKey::new([named_port("a", 80), named_port("b", 81)]);
        let mut ask = Ask::of(&ports, [at(address)]);
        (ask.supported, ask.groups[0].0) = (vec![address_type], address_type);
        apply(&ask.plan(), &[]).swap_remove(0)
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
        .insert(SOURCE.into(), "nowhere".into());
    let (repaired, writes) = mirror(&sources, tampered);
    assert_eq!((writes.as_str(), addresses(&repaired)), ("dc", addresses(&derived)));

    let mut mistyped = derived.clone();
    mistyped[0].address_type = Ok(v6);
    assert_eq!(mirror(&sources, mistyped).1, "cd");

    sources.remove("keep");
    assert_eq!(mirror(&sources, derived).1, "d");
}
