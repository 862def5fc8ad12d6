//! Deletion of slices whose object is not mirrored.

use super::*;

/// No writes for objects that are not mirrored and have no slices (T-MIR-12, T-MIR-14, T-MIR-15).
#[test]
fn an_object_that_is_not_mirrored_gets_no_slices() {
    let skip = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
    let skipped = with(&endpoints("10.0.0.1 :80"), "/metadata/labels", skip);
    for (id, objects) in [
        ("T-MIR-12", vec![service(&Value::Null), skipped]),
        ("T-MIR-14", vec![endpoints("10.0.0.1 :80")]),
        ("T-MIR-15", vec![service_with_selector(), endpoints("10.0.0.1 :80")]),
        ("S2", vec![service(&Value::Null)]),
    ] {
        let mut harness = Harness::new();
        for object in objects {
            harness.apply(&object);
        }
        let SyncResult {
            plan,
            events,
            requeue_after,
        } = harness.sync_result();
        assert_eq!((plan, events, requeue_after), (Plan::default(), vec![], None), "{id}");
    }
}

/// All reasons to stop mirroring an object (M107).
#[test]
fn slices_are_deleted_when_their_object_is_no_longer_mirrored() {
    type Change = fn(&mut Harness);
    let changes: [(&str, Change); 5] = [
        ("S3", |harness| drop(harness.delete(Watch::Endpoints, "test-ep"))),
        ("S5", |harness| drop(harness.delete(Watch::Services, "test-ep"))),
        ("both", |harness| {
            harness.delete(Watch::Services, "test-ep");
            harness.delete(Watch::Endpoints, "test-ep");
        }),
        ("M2, S8", |harness| {
            let labels = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
            harness.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/labels", labels));
        }),
        ("M3, S8", |harness| {
            let annotations = json!({"control-plane.alpha.kubernetes.io/leader": ""});
            harness.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/annotations", annotations));
        }),
    ];
    for (id, change) in changes {
        let mut harness = Harness::mirrored("10.0.0.1 fd00::1 :80");
        change(&mut harness);
        assert_eq!(harness.sync(), "delete; delete", "{id}");
        assert_eq!((harness.sync(), harness.slices.len()), (String::new(), 0), "{id}");
    }
}

/// After a restart, only the slices of a deleted object are in the cache. They are deleted with preconditions (I8).
#[test]
fn slices_of_an_unknown_object_are_deleted() {
    let mut harness = Harness::new();
    harness.slices = vec![stored("a", "IPv4", &json!([]), &json!([]))];
    let SyncResult { plan, .. } = harness.sync_result();
    let [write] = &plan.writes[..] else { panic!("{plan:?}") };
    let Operation::Delete(deletion) = &write.operation else {
        panic!("{write:?}")
    };
    let preconditions = (deletion.uid.as_deref(), deletion.resource_version.as_deref());
    assert_eq!((&*deletion.name, preconditions), ("a", (Some("uid-a"), Some("7"))));
    assert!(write.depends_on.is_empty(), "D13");
}

/// Address type and managed-by label decide (T-MIR-16, T-MIR-17, T-MIR-N16).
#[test]
fn slices_of_other_address_types_are_deleted_and_foreign_ones_are_kept() {
    for (id, slice, expected) in [
        ("T-MIR-16", stored("a", "", &json!([]), &json!([])), "delete"),
        ("T-MIR-N16 (M68)", stored("a", "FQDN", &json!([]), &json!([])), "delete"),
        ("T-MIR-17", foreign(), ""),
    ] {
        let mut harness = Harness::mirrored(" :80");
        harness.slices = vec![slice.clone()];
        assert_eq!(harness.sync(), expected, "{id}");
        assert_eq!(harness.slices.contains(&slice), expected.is_empty(), "{id}");
    }
}

fn foreign() -> CompactSlice {
    let mut slice = stored("a", "IPv4", &json!([]), &json!([]));
    let labels = slice.metadata.labels.as_mut().unwrap();
    labels.insert(MANAGED_BY_LABEL.to_owned(), "something-else".to_owned());
    slice
}

/// Terminating slices get no further delete (D8).
#[test]
fn d8_a_terminating_slice_is_not_deleted_again() {
    let mut harness = Harness::mirrored("10.0.0.1 fd00::1 :80");
    let timestamp = serde_json::from_value(json!("2024-01-02T03:04:05Z")).unwrap();
    harness.slices[0].metadata.deletion_timestamp = Some(timestamp);
    harness.delete(Watch::Services, "test-ep");
    assert_eq!(harness.sync(), "delete");
}

/// With a Service selector, a Service that is not in the index may still exist, so its slices are not deleted.
#[test]
fn slices_of_services_out_of_scope_are_ignored() {
    let mut harness = Harness::with_config(Config {
        service_selector: "team=a".into(),
        ..config()
    });
    harness.slices = vec![stored("a", "IPv4", &json!([]), &json!([]))];
    assert_eq!(harness.sync(), "", "empty index");
    harness.apply(&endpoints("10.0.0.1 :80"));
    assert_eq!(harness.sync(), "", "no Service");
    harness.apply(&service(&Value::Null));
    assert_eq!(harness.sync(), "update IPv4 10.0.0.1 :80", "in scope");
    harness.delete(Watch::Services, "test-ep");
    assert_eq!(harness.sync(), "", "no longer in scope");
    harness.apply(&service(&Value::Null));
    harness.delete(Watch::Endpoints, "test-ep");
    assert_eq!(harness.sync(), "delete", "in scope, no Endpoints object");
}
