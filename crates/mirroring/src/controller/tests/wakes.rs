//! Which change wakes which key.

use super::*;

const SKIP: &str = "/metadata/labels";

fn skipped(value: &str) -> Value {
    let labels = json!({"endpointslice.kubernetes.io/skip-mirror": value});
    with(&endpoints("10.0.0.1 :80"), SKIP, labels)
}

fn locked() -> Value {
    let annotations = json!({"control-plane.alpha.kubernetes.io/leader": ""});
    with(&endpoints("10.0.0.1 :80"), "/metadata/annotations", annotations)
}

/// T-MIR-N20 (M25): at once, whatever the batch period is.
#[test]
fn m12_to_m14_endpoints_that_ask_to_be_mirrored_wake_their_name() {
    let plain = endpoints("10.0.0.1 :80");
    for (id, before, now, wakes) in [
        ("M12, T-MIR-N20", None, Some(plain.clone()), true),
        ("M12: another value", None, Some(skipped("false")), true),
        ("M12: skip-mirror", None, Some(skipped("true")), false),
        ("M12: a lock", None, Some(locked()), false),
        ("M13", Some(plain.clone()), Some(endpoints("10.0.0.2 :80")), true),
        ("M13: labels", Some(plain.clone()), Some(skipped("false")), true),
        (
            "M13, S8: from eligible",
            Some(plain.clone()),
            Some(skipped("true")),
            true,
        ),
        ("M13, S8: to eligible", Some(skipped("true")), Some(plain.clone()), true),
        ("M13: neither", Some(locked()), Some(skipped("true")), false),
        ("M14", Some(plain), None, true),
        ("M14: a lock", Some(locked()), None, false),
    ] {
        let mut stage = Stage::new();
        if let Some(before) = before {
            stage.apply(&before);
        }
        let woke = match now {
            Some(now) => stage.apply(&now),
            None => stage.delete(Watch::Endpoints, "test-ep"),
        };
        assert_eq!(woke, if wakes { woken(0) } else { vec![] }, "{id}");
    }
}

#[test]
fn m15_to_m17_services_without_selector_wake_their_name() {
    let plain = service(&Value::Null);
    for (id, before, now, wakes) in [
        ("M15", None, Some(plain.clone()), true),
        (
            "M15, M8: an empty selector is none",
            None,
            Some(service(&json!({}))),
            true,
        ),
        ("M15: a selector", None, Some(selecting()), false),
        ("M16", Some(plain.clone()), Some(selecting()), true),
        ("M16", Some(selecting()), Some(plain.clone()), true),
        (
            "M16: no difference",
            Some(plain.clone()),
            Some(service(&json!({}))),
            false,
        ),
        (
            "M16: another selector",
            Some(selecting()),
            Some(service(&json!({"foo": "baz"}))),
            false,
        ),
        (
            "M16, M9: anything else",
            Some(plain.clone()),
            Some(with(&plain, "/spec/type", json!("ExternalName"))),
            false,
        ),
        ("M17", Some(plain), None, true),
        ("M17: a selector", Some(selecting()), None, false),
    ] {
        let mut stage = Stage::new();
        if let Some(before) = before {
            stage.apply(&before);
        }
        let woke = match now {
            Some(now) => stage.apply(&now),
            None => stage.delete(Watch::Services, "test-ep"),
        };
        assert_eq!(woke, if wakes { woken(0) } else { vec![] }, "{id}");
    }
}

/// D6, M111: the Endpoints of a Service with a selector change with every pod.
#[test]
fn d6_endpoints_of_a_service_that_selects_pods_wake_nobody() {
    let mut stage = Stage::new();
    stage.apply(&selecting());
    assert_eq!(stage.apply(&endpoints("10.0.0.1 :80")), []);
    assert_eq!(stage.apply(&endpoints("10.0.0.2 :80")), []);
    // But they are known when the selector goes (S7).
    assert_eq!(stage.apply(&service(&Value::Null)), woken(0));
    assert_eq!(stage.sync(), "create IPv4 10.0.0.2 :80");
}

/// M27: what says nothing new wakes nobody; a look from time to time is somebody else's business.
#[test]
fn what_says_nothing_new_wakes_nobody() {
    let plain = with(
        &endpoints("10.0.0.1 10.0.0.2 :a/80 b/90"),
        "/metadata/annotations",
        json!({"x": "y"}),
    );
    let annotated = |key: &str| {
        let annotations = json!({"x": "y", key: "new"});
        with(&plain, "/metadata/annotations", annotations)
    };
    let other = |subsets: &str| with(&plain, "/subsets", endpoints(subsets)["subsets"].clone());
    let other_metadata = |field: &str, value: Value| with(&plain, &format!("/metadata/{field}"), value);
    let mut stage = Stage::new();
    stage.apply(&service(&Value::Null));
    stage.apply(&plain);
    for (id, object, wakes) in [
        ("told again", plain.clone(), false),
        ("another version", other_metadata("resourceVersion", json!("8")), false),
        (
            "what kubectl leaves behind",
            annotated("kubectl.kubernetes.io/last-applied-configuration"),
            false,
        ),
        (
            "when the change began",
            annotated("endpoints.kubernetes.io/last-change-trigger-time"),
            false,
        ),
        ("another annotation", annotated("z"), true),
        ("a label", other_metadata("labels", json!({"x": "y"})), true),
        ("another order", other("10.0.0.2 10.0.0.1 :b/90 a/80"), false),
        ("split", other("10.0.0.1 :a/80 b/90;10.0.0.2 :a/80 b/90"), false),
        ("another readiness", other("10.0.0.1 !10.0.0.2 :a/80 b/90"), true),
        (
            "S4: another object of the same name",
            other_metadata("uid", json!("3")),
            true,
        ),
        (
            "M101: its end",
            other_metadata("deletionTimestamp", json!("2024-01-02T03:04:05Z")),
            true,
        ),
    ] {
        assert_eq!(stage.apply(&object), if wakes { woken(0) } else { vec![] }, "{id}");
        stage.apply(&plain);
    }
}

/// No more than matters is asked for.
#[test]
fn the_watches_are_narrow() {
    let stage = Stage::with(Config {
        service_selector: "team=a".into(),
        ..config()
    });
    let watches = stage.controller.watches();
    let asked: Vec<_> = watches
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
        asked,
        [
            (Watch::Endpoints, "endpoints", "endpoints", "", false),
            (Watch::Services, "services", "services", "team=a", false),
            (Watch::PodSlices, "pod slices", "endpointslices", pod_slices, true),
        ]
    );
}
