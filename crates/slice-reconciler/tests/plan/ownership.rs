//! Slices with our labels and other owners, or none.

use serde_json::{Value, json};
use slice_core::CompactSlice;
use slice_reconciler::{
    OwnerReferenceOptions,
    Ownership::{Enforce, Ignore, RebuildOnForeignUid},
};

use crate::support::{Ask, options, order, pods, port, stored};

fn with_owners(owners: &Value) -> Vec<CompactSlice> {
    let mut slices = stored(&[&pods(0..1)], &port(80));
    slices[0].metadata.owner_references = serde_json::from_value(owners.clone()).unwrap();
    slices
}

fn owners(ask: &Ask<'_>) -> Value {
    json!(ask.existing[0].metadata.owner_references)
}

/// G16, G53, I7, T-GX-04, T-GMIR-09: what each mode does with slices whose endpoints are as they should be. An adopted slice has
/// our reference from then on, where it is adopted for good at once.
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
    for (stored, enforce, ignore, rebuild) in [
        (&ours, "", "", ""),
        (&Value::Null, "cd", "u", ""),
        (&earlier, "cd", "u", "cd"),
        (&other_name, "cd", "u", ""),
        (&other_kind, "cd", "u", ""),
        (&both, "", "", ""),
    ] {
        for (ownership, expected) in [(Enforce, enforce), (Ignore, ignore), (RebuildOnForeignUid, rebuild)] {
            let mut ask = Ask::of(&port(80), pods(0..1)).with(with_owners(stored));
            ask.options.ownership = ownership;
            assert_eq!(order(&ask.sync()), expected, "{ownership:?} {stored}");
            assert_eq!(order(&ask.sync()), "", "{ownership:?} {stored}");
            if ownership == Ignore || !expected.is_empty() {
                let references = ask.existing[0].metadata.owner_references.as_ref().unwrap();
                assert!(
                    references
                        .iter()
                        .any(|owner| owner.uid == "uid-1" && owner.kind == "Service")
                );
            }
        }
    }
}

/// An adopted slice keeps its owners, and one controller among them: the API server refuses two.
#[test]
fn an_adopted_slice_keeps_its_owners() {
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": true, "blockOwnerDeletion": false});
    let ours = |controller: bool| json!({"apiVersion": "v1", "kind": "Service", "name": "foo", "uid": "uid-1", "controller": controller, "blockOwnerDeletion": true});
    for ownership in [Ignore, RebuildOnForeignUid] {
        for (stored, expected) in [
            (json!([theirs]), json!([theirs, ours(false)])),
            (Value::Null, json!([ours(true)])),
        ] {
            let mut ask = Ask::of(&port(80), pods(0..2)).with(with_owners(&stored));
            ask.options.ownership = ownership;
            assert_eq!(order(&ask.sync()), "u");
            assert_eq!(owners(&ask), expected);
        }
    }
}

/// G70, G76: an owner reference reads as the controller wants it, and a difference in it is no reason to write.
#[test]
fn owner_references_read_as_asked_for() {
    let flags = OwnerReferenceOptions {
        controller: false,
        block_owner_deletion: false,
    };
    let mut ask = Ask::of(&port(80), pods(0..1));
    ask.owner.api_version = "multicluster.x-k8s.io/v1beta1";
    ask.owner.kind = "ServiceImport";
    ask.options.owner_reference = flags;
    ask.sync();
    let expected = json!([{
        "apiVersion": "multicluster.x-k8s.io/v1beta1", "kind": "ServiceImport", "name": "foo", "uid": "uid-1",
        "controller": false, "blockOwnerDeletion": false,
    }]);
    assert_eq!(owners(&ask), expected);
    ask.options = options(100);
    ask.owner.api_version = "multicluster.x-k8s.io/v1";
    assert_eq!(
        order(&ask.sync()),
        "",
        "flags and versions of the API come and go (G16)"
    );
    assert_eq!(owners(&ask), expected);
}

/// G16, G25: a placeholder that is kept is adopted like any other slice.
#[test]
fn a_placeholder_is_adopted() {
    let mut ask = Ask::default();
    ask.sync();
    ask.existing[0].metadata.owner_references = None;
    ask.options.ownership = Ignore;
    assert_eq!(order(&ask.sync()), "u");
    assert!(ask.owner.owns(&ask.existing[0]));
    assert_eq!(order(&ask.sync()), "");
}
