//! What endpoints agree in.

use smallvec::SmallVec;

use super::*;

fn endpoint() -> Endpoint {
    Endpoint {
        addresses: SmallVec::from_iter([Address::stored("10.0.0.1")]),
        conditions: Conditions {
            ready: Some(true),
            serving: Some(true),
            terminating: Some(false),
        },
        node_name: Some("node-1".into()),
        zone: Some("zone-1".into()),
        target: Some(Target {
            kind: Some("Pod".into()),
            namespace: Some("ns".into()),
            name: Some("pod0".into()),
            resource_version: Some("1".into()),
            ..Target::default()
        }),
        ..Endpoint::default()
    }
}

fn changed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let mut endpoint = endpoint();
    change(&mut endpoint);
    endpoint
}

fn target(change: impl FnOnce(&mut Target<Arc<str>>)) -> Endpoint {
    changed(|endpoint| change(endpoint.target.as_mut().unwrap()))
}

/// R67, M64, T-CUT-42…50, T-MIR-71…79, T-EQB-01…09.
#[test]
fn r79_what_counts_beyond_identity() {
    let cases = [
        ("nothing", endpoint(), true),
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
        ("target", target(|t| t.name = Some("pod1".into())), false),
        ("target's uid", target(|t| t.uid = Some("1".into())), false),
        ("no target", changed(|e| e.target = None), false),
        (
            "target's version",
            target(|t| t.resource_version = Some("2".into())),
            true,
        ),
        ("no version", target(|t| t.resource_version = None), true),
        ("hints", changed(|e| e.hints = Some(Arc::default())), true),
        (
            "deprecated topology",
            changed(|e| e.deprecated_topology = Some(Box::default())),
            true,
        ),
    ];
    let base = endpoint();
    for (what, other, expected) in cases {
        if base.view().is_same_as(&other.view()) {
            assert_eq!(
                base.view().equals_if_same(&other.view()),
                expected,
                "{what}, the same one"
            );
        }
        assert_eq!(base.view().equals_beyond_identity(&other.view()), expected, "{what}");
        assert_eq!(
            other.view().equals_beyond_identity(&base.view()),
            expected,
            "{what}, reversed"
        );
    }
}

/// G5 has absent and empty names for the same; R79 has not.
#[test]
fn r79_absent_is_not_empty() {
    let named = |name: Option<&str>| target(|t| (t.name, t.namespace) = (name.map(Into::into), None));
    let in_namespace = |namespace: Option<&str>| target(|t| (t.name, t.namespace) = (None, namespace.map(Into::into)));
    for (absent, empty) in [
        (named(None), named(Some(""))),
        (in_namespace(None), in_namespace(Some(""))),
    ] {
        assert!(absent.view().is_same_as(&empty.view()));
        assert!(absent.view().equals_if_same(&absent.view()));
        assert!(!absent.view().equals_if_same(&empty.view()));
        assert!(!absent.view().equals_beyond_identity(&empty.view()));
    }
}

#[test]
fn a_view_makes_the_same_endpoint_again() {
    let hinted = changed(|endpoint| endpoint.hints = Some(Arc::default()));
    assert_eq!(hinted.view().to_endpoint(), endpoint());
    assert_eq!((&hinted).to_endpoint(), endpoint());
}
