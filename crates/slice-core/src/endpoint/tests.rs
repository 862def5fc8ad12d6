//! Tests of endpoint comparison.

use k8s_openapi::api::core::v1::ObjectReference;
use smallvec::SmallVec;

use super::*;
use crate::Interner;

fn reference() -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".into()),
        namespace: Some("ns".into()),
        name: Some("pod0".into()),
        resource_version: Some("1".into()),
        ..ObjectReference::default()
    }
}

fn endpoint() -> Endpoint {
    Endpoint {
        addresses: SmallVec::from_iter([Address::from_canonical("10.0.0.1")]),
        conditions: Conditions {
            ready: Some(true),
            serving: Some(true),
            terminating: Some(false),
        },
        node_name: Some("node-1".into()),
        zone: Some("zone-1".into()),
        target: Some(Target::from(&reference())),
        ..Endpoint::default()
    }
}

fn changed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let mut endpoint = endpoint();
    change(&mut endpoint);
    endpoint
}

fn with_target(change: impl FnOnce(&mut ObjectReference)) -> Endpoint {
    let mut target = reference();
    change(&mut target);
    changed(|endpoint| endpoint.target = Some(Target::from(&target)))
}

/// Node, zone, conditions and target are compared (R67, M64, T-CUT-42…50, T-MIR-71…79, T-EQB-01…09).
#[test]
fn r79_attributes_are_compared_beyond_identity() {
    let cases = [
        ("equal", endpoint(), true),
        ("node", changed(|e| e.node_name = Some("node-2".into())), false),
        ("no node", changed(|e| e.node_name = None), false),
        ("zone", changed(|e| e.zone = Some("zone-2".into())), false),
        ("ready", changed(|e| e.conditions.ready = Some(false)), false),
        ("serving absent", changed(|e| e.conditions.serving = None), false),
        ("serving", changed(|e| e.conditions.serving = Some(false)), false),
        (
            "terminating absent",
            changed(|e| e.conditions.terminating = None),
            false,
        ),
        ("target", with_target(|t| t.name = Some("pod1".into())), false),
        ("target's uid", with_target(|t| t.uid = Some("1".into())), false),
        ("no target", changed(|e| e.target = None), false),
        (
            "target's version",
            with_target(|t| t.resource_version = Some("2".into())),
            true,
        ),
        ("no version", with_target(|t| t.resource_version = None), true),
        ("hints", changed(|e| e.hints = Some(Hints::zone("a"))), true),
        (
            "deprecated topology",
            changed(|e| e.deprecated_topology = Some(Box::default())),
            true,
        ),
    ];
    let base = endpoint();
    for (difference, other, expected) in cases {
        assert_eq!(base.equals_beyond_identity(&other), expected, "{difference}");
        assert_eq!(other.equals_beyond_identity(&base), expected, "{difference}, reversed");
    }
}

/// Absent and empty names are the same identity (G5), but different attributes (R79).
#[test]
fn r79_absent_attribute_differs_from_an_empty_one() {
    let named = |name: Option<&str>| with_target(|t| (t.name, t.namespace) = (name.map(Into::into), None));
    let in_namespace =
        |namespace: Option<&str>| with_target(|t| (t.name, t.namespace) = (None, namespace.map(Into::into)));
    for (absent, empty) in [
        (named(None), named(Some(""))),
        (in_namespace(None), in_namespace(Some(""))),
    ] {
        assert!(absent.same_identity(&empty));
        assert!(absent.equals_beyond_identity(&absent.clone()));
        assert!(!absent.equals_beyond_identity(&empty));
    }
}

#[test]
fn compact_form_has_no_hints() {
    let hinted = changed(|endpoint| endpoint.hints = Some(Hints::zone("a")));
    assert_eq!(hinted.to_endpoint(), endpoint());
}

#[test]
fn endpoints_with_one_interned_target_identity_can_differ_in_other_fields() {
    let mut interner = Interner::default();
    let mut with_reference = |reference: &ObjectReference| {
        let target = Target::from_k8s(reference, &mut interner);
        changed(|endpoint| endpoint.target = Some(target))
    };
    let pod = with_reference(&reference());
    let other_kind = with_reference(&ObjectReference {
        kind: None,
        ..reference()
    });
    let identity = |endpoint: &Endpoint| Arc::clone(endpoint.target.as_ref().unwrap().identity());
    assert!(Arc::ptr_eq(&identity(&pod), &identity(&other_kind)));
    assert!(pod.same_identity(&other_kind) && !pod.equals_beyond_identity(&other_kind));
    let hostname = Endpoint {
        hostname: Some("a".into()),
        ..pod.clone()
    };
    assert!(!pod.same_identity(&hostname));
    let not_interned = endpoint();
    assert!(pod.same_identity(&not_interned) && pod.equals_beyond_identity(&not_interned));
}
