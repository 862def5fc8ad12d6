//! Slices with our labels and another owner or none.

use serde_json::{Value, json};
use slice_core::CompactSlice;
use slice_reconciler::{
    OwnerReferenceOptions,
    Ownership::{Enforce, Ignore, RebuildOnForeignUid},
};

use crate::{
    fixtures::{existing_slices, options, pods, port},
    harness::{Harness, order},
};

fn with_owners(owners: &Value) -> Vec<CompactSlice> {
    let mut slices = existing_slices(&[&pods(0..1)], &port(80));
    slices[0].metadata.owner_references = serde_json::from_value(owners.clone()).unwrap();
    slices
}

fn owners(harness: &Harness<'_>) -> Value {
    json!(harness.existing[0].metadata.owner_references)
}

/// The writes of each mode for slices with the desired endpoints. Mode `Ignore` adds our owner reference at once (G16, G53,
/// I7, T-GX-04, T-GMIR-09).
#[test]
fn g16_three_modes_of_ownership() {
    let reference =
        |kind: &str, name: &str, uid: &str| json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid});
    let ours = json!([reference("Service", "foo", "uid-1")]);
    let earlier = json!([reference("Service", "foo", "uid-0")]);
    let other_name = json!([reference("Service", "bar", "uid-0")]);
    let other_kind = json!([reference("ConfigMap", "foo", "uid-1")]);
    let both = json!([
        reference("Service", "foo", "uid-0"),
        reference("Service", "foo", "uid-1")
    ]);
    for (existing, enforce, ignore, rebuild) in [
        (&ours, "", "", ""),
        (&Value::Null, "cd", "u", ""),
        (&earlier, "cd", "u", "cd"),
        (&other_name, "cd", "u", ""),
        (&other_kind, "cd", "u", ""),
        (&both, "", "", ""),
    ] {
        for (ownership, expected) in [(Enforce, enforce), (Ignore, ignore), (RebuildOnForeignUid, rebuild)] {
            let mut harness = Harness::of(&port(80), pods(0..1)).with(with_owners(existing));
            harness.options.ownership = ownership;
            assert_eq!(order(&harness.sync()), expected, "{ownership:?} {existing}");
            assert_eq!(order(&harness.sync()), "", "{ownership:?} {existing}");
            if ownership == Ignore || !expected.is_empty() {
                let references = harness.existing[0].metadata.owner_references.as_ref().unwrap();
                assert!(
                    references
                        .iter()
                        .any(|owner| owner.uid == "uid-1" && owner.kind == "Service")
                );
            }
        }
    }
}

/// An adopted slice keeps its owner references. Only one is a controller: the API server rejects two.
#[test]
fn an_adopted_slice_keeps_its_owner_references() {
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": true, "blockOwnerDeletion": false});
    let ours = |controller: bool| json!({"apiVersion": "v1", "kind": "Service", "name": "foo", "uid": "uid-1", "controller": controller, "blockOwnerDeletion": true});
    for ownership in [Ignore, RebuildOnForeignUid] {
        for (existing, expected) in [
            (json!([theirs]), json!([theirs, ours(false)])),
            (Value::Null, json!([ours(true)])),
        ] {
            let mut harness = Harness::of(&port(80), pods(0..2)).with(with_owners(&existing));
            harness.options.ownership = ownership;
            assert_eq!(order(&harness.sync()), "u");
            assert_eq!(owners(&harness), expected);
        }
    }
}

/// Owner references have the configured flags, and a difference in flags causes no write (G70, G76).
#[test]
fn owner_references_have_the_configured_flags() {
    let flags = OwnerReferenceOptions {
        controller: false,
        block_owner_deletion: false,
    };
    let mut harness = Harness::of(&port(80), pods(0..1));
    harness.owner.api_version = "multicluster.x-k8s.io/v1beta1";
    harness.owner.kind = "ServiceImport";
    harness.options.owner_reference = flags;
    harness.sync();
    let expected = json!([{
        "apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport", "name": "foo", "uid": "uid-1",
        "controller": false, "blockOwnerDeletion": false,
    }]);
    assert_eq!(owners(&harness), expected);
    harness.options = options(100);
    harness.owner.api_version = "multicluster.x-k8s.io/v1";
    assert_eq!(order(&harness.sync()), "", "flags and API versions do not matter (G16)");
    assert_eq!(owners(&harness), expected);
}

/// An existing placeholder is adopted like any other slice (G16, G25).
#[test]
fn a_placeholder_is_adopted() {
    let mut harness = Harness::default();
    harness.sync();
    harness.existing[0].metadata.owner_references = None;
    harness.options.ownership = Ignore;
    assert_eq!(order(&harness.sync()), "u");
    assert!(harness.owner.owns(&harness.existing[0]));
    assert_eq!(order(&harness.sync()), "");
}
