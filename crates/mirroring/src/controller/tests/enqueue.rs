//! Which watch event enqueues which key.

use super::*;

fn with_skip_mirror(value: &str) -> Value {
    let labels = json!({"endpointslice.kubernetes.io/skip-mirror": value});
    with(&endpoints("10.0.0.1 :80"), "/metadata/labels", labels)
}

fn leader_lock() -> Value {
    let annotations = json!({"control-plane.alpha.kubernetes.io/leader": ""});
    with(&endpoints("10.0.0.1 :80"), "/metadata/annotations", annotations)
}

/// Without delay, whatever the batch period (T-MIR-N20, M25).
#[test]
fn m12_to_m14_eligible_endpoints_are_enqueued() {
    let eligible = endpoints("10.0.0.1 :80");
    for (id, before, after, expected) in [
        ("M12, T-MIR-N20", None, Some(eligible.clone()), true),
        ("M12: another label value", None, Some(with_skip_mirror("false")), true),
        ("M12: skip-mirror", None, Some(with_skip_mirror("true")), false),
        ("M12: a leader-election lock", None, Some(leader_lock()), false),
        ("M13", Some(eligible.clone()), Some(endpoints("10.0.0.2 :80")), true),
        (
            "M13: labels",
            Some(eligible.clone()),
            Some(with_skip_mirror("false")),
            true,
        ),
        (
            "M13, S8: from eligible",
            Some(eligible.clone()),
            Some(with_skip_mirror("true")),
            true,
        ),
        (
            "M13, S8: to eligible",
            Some(with_skip_mirror("true")),
            Some(eligible.clone()),
            true,
        ),
        (
            "M13: neither",
            Some(leader_lock()),
            Some(with_skip_mirror("true")),
            false,
        ),
        ("M14", Some(eligible), None, true),
        ("M14: a leader-election lock", Some(leader_lock()), None, false),
    ] {
        let mut harness = Harness::new();
        if let Some(before) = before {
            harness.apply(&before);
        }
        let enqueued = match after {
            Some(after) => harness.apply(&after),
            None => harness.delete(Watch::Endpoints, "test-ep"),
        };
        assert_eq!(enqueued, if expected { enqueued_after(0) } else { vec![] }, "{id}");
    }
}

#[test]
fn m15_to_m17_services_without_selector_are_enqueued() {
    let selectorless = service(&Value::Null);
    for (id, before, after, expected) in [
        ("M15", None, Some(selectorless.clone()), true),
        (
            "M15, M8: an empty selector counts as none",
            None,
            Some(service(&json!({}))),
            true,
        ),
        ("M15: a selector", None, Some(service_with_selector()), false),
        ("M16", Some(selectorless.clone()), Some(service_with_selector()), true),
        ("M16", Some(service_with_selector()), Some(selectorless.clone()), true),
        (
            "M16: no difference",
            Some(selectorless.clone()),
            Some(service(&json!({}))),
            false,
        ),
        (
            "M16: another selector",
            Some(service_with_selector()),
            Some(service(&json!({"foo": "baz"}))),
            false,
        ),
        (
            "M16, M9: another field",
            Some(selectorless.clone()),
            Some(with(&selectorless, "/spec/type", json!("ExternalName"))),
            false,
        ),
        ("M17", Some(selectorless), None, true),
        ("M17: a selector", Some(service_with_selector()), None, false),
    ] {
        let mut harness = Harness::new();
        if let Some(before) = before {
            harness.apply(&before);
        }
        let enqueued = match after {
            Some(after) => harness.apply(&after),
            None => harness.delete(Watch::Services, "test-ep"),
        };
        assert_eq!(enqueued, if expected { enqueued_after(0) } else { vec![] }, "{id}");
    }
}

/// The Endpoints of a Service with a selector change with every pod and are not mirrored (D6, M111).
#[test]
fn d6_endpoints_of_a_service_with_a_selector_are_not_enqueued() {
    let mut harness = Harness::new();
    harness.apply(&service_with_selector());
    assert_eq!(harness.apply(&endpoints("10.0.0.1 :80")), []);
    assert_eq!(harness.apply(&endpoints("10.0.0.2 :80")), []);
    // They are indexed, so they are mirrored once the selector is removed (S7).
    assert_eq!(harness.apply(&service(&Value::Null)), enqueued_after(0));
    assert_eq!(harness.sync(), "create IPv4 10.0.0.2 :80");
}

/// An update without a relevant change is not enqueued; the periodic resync is part of the runtime (M27).
#[test]
fn an_update_without_a_relevant_change_is_not_enqueued() {
    let object = with(
        &endpoints("10.0.0.1 10.0.0.2 :a/80 b/90"),
        "/metadata/annotations",
        json!({"x": "y"}),
    );
    let annotated = |key: &str| {
        let annotations = json!({"x": "y", key: "new"});
        with(&object, "/metadata/annotations", annotations)
    };
    let other = |subsets: &str| with(&object, "/subsets", endpoints(subsets)["subsets"].clone());
    let other_metadata = |field: &str, value: Value| with(&object, &format!("/metadata/{field}"), value);
    let mut harness = Harness::new();
    harness.apply(&service(&Value::Null));
    harness.apply(&object);
    for (id, updated, expected) in [
        ("no change", object.clone(), false),
        (
            "another resourceVersion",
            other_metadata("resourceVersion", json!("8")),
            false,
        ),
        (
            "kubectl's last-applied annotation",
            annotated("kubectl.kubernetes.io/last-applied-configuration"),
            false,
        ),
        (
            "the trigger time",
            annotated("endpoints.kubernetes.io/last-change-trigger-time"),
            false,
        ),
        ("another annotation", annotated("z"), true),
        ("a label", other_metadata("labels", json!({"x": "y"})), true),
        ("another order", other("10.0.0.2 10.0.0.1 :b/90 a/80"), false),
        (
            "split into two subsets",
            other("10.0.0.1 :a/80 b/90;10.0.0.2 :a/80 b/90"),
            false,
        ),
        ("another readiness", other("10.0.0.1 !10.0.0.2 :a/80 b/90"), true),
        (
            "S4: another object of the same name",
            other_metadata("uid", json!("3")),
            true,
        ),
        (
            "M101: a deletionTimestamp",
            other_metadata("deletionTimestamp", json!("2024-01-02T03:04:05Z")),
            true,
        ),
    ] {
        assert_eq!(
            harness.apply(&updated),
            if expected { enqueued_after(0) } else { vec![] },
            "{id}"
        );
        harness.apply(&object);
    }
}

/// Watches have label selectors, and pod slices are watched as metadata.
#[test]
fn watches_are_restricted_to_the_needed_objects() {
    let harness = Harness::with_config(Config {
        service_selector: "team=a".into(),
        ..config()
    });
    let watches = harness.controller.watches();
    let specs: Vec<_> = watches
        .iter()
        .map(|watch| {
            (
                watch.id,
                watch.name,
                watch.resource,
                &*watch.label_selector,
                watch.metadata_only,
            )
        })
        .collect();
    let pod_slices = "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io";
    assert_eq!(
        specs,
        [
            (Watch::Endpoints, "endpoints", "endpoints", "", false),
            (Watch::Services, "services", "services", "team=a", false),
            (Watch::PodSlices, "pod slices", "endpointslices", pod_slices, true),
        ]
    );
}

/// What a relist without these objects would remove.
#[test]
fn endpoints_affected_counts_mirrored_addresses() {
    let mut harness = Harness::new();
    harness.apply(&service(&Value::Null));
    harness.apply(&endpoints("10.0.0.1 10.0.0.2 :80"));
    let missing = [ObjectRef {
        namespace: "test".into(),
        name: "test-ep".into(),
        ..ObjectRef::default()
    }];
    let affected = |harness: &Harness, watch| harness.controller.endpoints_affected(watch, &missing);
    assert_eq!(affected(&harness, Watch::Endpoints), 2);
    assert_eq!(affected(&harness, Watch::Services), 2);
    assert_eq!(affected(&harness, Watch::PodSlices), 0);
    harness.apply(&service_with_selector());
    assert_eq!(affected(&harness, Watch::Endpoints), 0, "not mirrored");
}
