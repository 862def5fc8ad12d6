//! What becomes of slices that mirror nothing any more.

use super::*;

/// T-MIR-12, T-MIR-14, T-MIR-15: nothing is made, and nothing is to be removed.
#[test]
fn what_is_not_mirrored_has_no_slices() {
    let skip = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
    let skipped = with(&endpoints("10.0.0.1 :80"), "/metadata/labels", skip);
    for (id, objects) in [
        ("T-MIR-12", vec![service(&Value::Null), skipped]),
        ("T-MIR-14", vec![endpoints("10.0.0.1 :80")]),
        ("T-MIR-15", vec![selecting(), endpoints("10.0.0.1 :80")]),
        ("S2", vec![service(&Value::Null)]),
    ] {
        let mut stage = Stage::new();
        for object in objects {
            stage.apply(&object);
        }
        let SyncResult {
            plan,
            events,
            requeue_after,
        } = stage.decide();
        assert_eq!((plan, events, requeue_after), (Plan::default(), vec![], None), "{id}");
    }
}

/// M107: each way to an end.
#[test]
fn slices_go_with_what_they_mirror() {
    type End = fn(&mut Stage);
    let ends: [(&str, End); 5] = [
        ("S3", |stage| drop(stage.delete(Watch::Endpoints, "test-ep"))),
        ("S5", |stage| drop(stage.delete(Watch::Services, "test-ep"))),
        ("both", |stage| {
            stage.delete(Watch::Services, "test-ep");
            stage.delete(Watch::Endpoints, "test-ep");
        }),
        ("M2, S8", |stage| {
            let labels = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
            stage.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/labels", labels));
        }),
        ("M3, S8", |stage| {
            let annotations = json!({"control-plane.alpha.kubernetes.io/leader": ""});
            stage.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/annotations", annotations));
        }),
    ];
    for (id, end) in ends {
        let mut stage = Stage::settled("10.0.0.1 fd00::1 :80");
        end(&mut stage);
        assert_eq!(stage.sync(), "delete; delete", "{id}");
        assert_eq!((stage.sync(), stage.slices.len()), (String::new(), 0), "{id}");
    }
}

/// After a restart nothing is known of an object that is gone, but for its slices. I8: each is deleted as it was seen.
#[test]
fn slices_of_what_was_never_seen_go() {
    let mut stage = Stage::new();
    stage.slices = vec![stored("a", "IPv4", &json!([]), &json!([]))];
    let SyncResult { plan, .. } = stage.decide();
    let [write] = &plan.writes[..] else { panic!("{plan:?}") };
    let Operation::Delete(deletion) = &write.operation else {
        panic!("{write:?}")
    };
    let seen = (deletion.uid.as_deref(), deletion.resource_version.as_deref());
    assert_eq!((&*deletion.name, seen), ("a", (Some("uid-a"), Some("7"))));
    assert!(write.after.is_empty(), "D13");
}

/// T-MIR-16, T-MIR-17, T-MIR-N16.
#[test]
fn slices_of_other_types_go_and_those_of_others_stay() {
    for (id, slice, expected) in [
        ("T-MIR-16", stored("a", "", &json!([]), &json!([])), "delete"),
        ("T-MIR-N16 (M68)", stored("a", "FQDN", &json!([]), &json!([])), "delete"),
        ("T-MIR-17", foreign(), ""),
    ] {
        let mut stage = Stage::settled(" :80");
        stage.slices = vec![slice.clone()];
        assert_eq!(stage.sync(), expected, "{id}");
        assert_eq!(stage.slices.contains(&slice), expected.is_empty(), "{id}");
    }
}

fn foreign() -> CompactSlice {
    let mut slice = stored("a", "IPv4", &json!([]), &json!([]));
    let labels = slice.metadata.labels.as_mut().unwrap();
    labels.insert(MANAGED_BY_LABEL.to_owned(), "something-else".to_owned());
    slice
}

/// D8: those that are being deleted need nothing more, and are not waited for.
#[test]
fn d8_what_goes_already_is_not_deleted_again() {
    let mut stage = Stage::settled("10.0.0.1 fd00::1 :80");
    let ending = serde_json::from_value(json!("2024-01-02T03:04:05Z")).unwrap();
    stage.slices[0].metadata.deletion_timestamp = Some(ending);
    stage.delete(Watch::Services, "test-ep");
    assert_eq!(stage.sync(), "delete");
}

/// A Service that is not in scope is somebody else's, and so are its slices: "not found" does not mean "gone".
#[test]
fn what_is_out_of_scope_is_left_alone() {
    let mut stage = Stage::with(Config {
        service_selector: "team=a".into(),
        ..config()
    });
    stage.slices = vec![stored("a", "IPv4", &json!([]), &json!([]))];
    assert_eq!(stage.sync(), "", "nothing is known");
    stage.apply(&endpoints("10.0.0.1 :80"));
    assert_eq!(stage.sync(), "", "no Service");
    stage.apply(&service(&Value::Null));
    assert_eq!(stage.sync(), "update IPv4 10.0.0.1 :80", "in scope");
    stage.delete(Watch::Services, "test-ep");
    assert_eq!(stage.sync(), "", "in scope no longer");
    stage.apply(&service(&Value::Null));
    stage.delete(Watch::Endpoints, "test-ep");
    assert_eq!(stage.sync(), "delete", "in scope, and nothing to mirror");
}
