//! What endpoints agree in.

use smallvec::SmallVec;

use super::*;
use crate::{ObjectName, Share};

const TARGET: TargetRef<'_> = TargetRef {
    kind: Some("Pod"),
    namespace: Some("ns"),
    name: Some("pod0"),
    uid: None,
    api_version: None,
    field_path: None,
    resource_version: Some("1"),
};

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
        target: Some(TARGET.into()),
        ..Endpoint::default()
    }
}

fn changed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let mut endpoint = endpoint();
    change(&mut endpoint);
    endpoint
}

fn target<'a>(change: impl FnOnce(&mut TargetRef<'a>)) -> Endpoint {
    let mut target = TARGET;
    change(&mut target);
    changed(|endpoint| endpoint.target = Some(target.into()))
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
        ("target", target(|t| t.name = Some("pod1")), false),
        ("target's uid", target(|t| t.uid = Some("1")), false),
        ("no target", changed(|e| e.target = None), false),
        ("target's version", target(|t| t.resource_version = Some("2")), true),
        ("no version", target(|t| t.resource_version = None), true),
        ("hints", changed(|e| e.hints = Some(Hints::Zone("a".into()))), true),
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
    let named = |name: Option<&str>| target(|t| (t.name, t.namespace) = (name, None));
    let in_namespace = |namespace: Option<&str>| target(|t| (t.name, t.namespace) = (None, namespace));
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
    let hinted = changed(|endpoint| endpoint.hints = Some(Hints::Zone("a".into())));
    assert_eq!(hinted.view().to_endpoint(), endpoint());
    assert_eq!((&hinted).to_endpoint(), endpoint());
}

/// Hands out the same names whatever is asked for, as one that shares them does for equal ones.
struct One(Arc<ObjectName<Arc<str>>>);

impl<'a> Share<&'a str, Arc<str>> for One {
    fn text(&mut self, text: &'a str) -> Arc<str> {
        text.into()
    }

    fn object(&mut self, _: ObjectName<&'a str>) -> Arc<ObjectName<Arc<str>>> {
        Arc::clone(&self.0)
    }
}

#[test]
fn endpoints_of_one_object_may_still_say_something_else() {
    let mut one = One(Arc::clone(endpoint().target.as_ref().unwrap().object()));
    let mut of_one_object =
        |target: TargetRef<'static>| changed(|endpoint| endpoint.target = Some(target.to_target(&mut one)));
    let (pod, other_kind) = (of_one_object(TARGET), of_one_object(TargetRef { kind: None, ..TARGET }));
    assert!((&pod).is_same_as(&&other_kind) && !(&pod).equals_beyond_identity(&&other_kind));
    let hostname = Endpoint {
        hostname: Some("a".into()),
        ..pod.clone()
    };
    assert!(!(&pod).is_same_as(&&hostname));
    assert!(
        (&pod).is_same_as(&&endpoint()) && (&pod).equals_beyond_identity(&&endpoint()),
        "by its names"
    );
}
