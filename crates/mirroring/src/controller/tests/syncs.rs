//! Plans for mirrored objects.

use super::*;

/// Created slices and their sizes (T-MIR-11, T-MIR-13, T-MIR-18, T-MIR-19, T-MIR-N21).
#[test]
fn a_service_without_selector_is_mirrored() {
    let many = |count: usize| -> String {
        let addresses: Vec<String> = (0..count).map(|i| format!("10.0.{}.{}", i / 256, i % 256)).collect();
        format!("{} :80", addresses.join(" "))
    };
    let external = with(&service(&Value::Null), "/spec/type", json!("ExternalName"));
    for (id, service, subsets, sizes) in [
        ("T-MIR-11", service(&Value::Null), " :80".to_owned(), vec![]),
        ("T-MIR-13", service(&Value::Null), "10.0.0.1 :80".to_owned(), vec![1]),
        ("T-MIR-18", service(&Value::Null), many(1000), vec![1000]),
        ("T-MIR-19", service(&Value::Null), many(1001), vec![1000]),
        ("T-MIR-N21 (M9)", external, "10.0.0.1 :80".to_owned(), vec![1]),
    ] {
        let mut harness = Harness::new();
        harness.apply(&service);
        harness.apply(&endpoints(&subsets));
        let writes = harness.sync();
        assert_eq!(writes.matches("create").count(), sizes.len(), "{id}");
        let written: Vec<usize> = harness.slices.iter().map(|slice| slice.endpoints.len()).collect();
        assert_eq!(written, sizes, "{id}");
        assert_eq!(harness.sync(), "", "{id}: I6, no further writes");
    }
}

/// Labels, annotations, owner reference and name of a new slice (M87–M95).
#[test]
fn m87_to_m95_metadata_of_a_new_slice() {
    let config = Config {
        managed_by: "another.example.com".into(),
        ..config()
    };
    let mut harness = Harness::with_config(config);
    harness.apply(&service(&Value::Null));
    let labels = json!({"a": "b", "endpointslice.kubernetes.io/managed-by": "x", "kubernetes.io/service-name": "x"});
    let annotations = json!({
        "c": "d", "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "endpoints.kubernetes.io/last-change-trigger-time": "2024-01-02T03:04:05Z",
    });
    let object = with(&endpoints("10.0.0.1 :80"), "/metadata/labels", labels);
    harness.apply(&with(&object, "/metadata/annotations", annotations));
    assert_eq!(harness.sync(), "create IPv4 10.0.0.1 :80");
    let metadata = serde_json::to_value(&harness.slices[0].metadata).unwrap();
    assert_eq!(
        metadata["labels"],
        json!({
            "a": "b", "kubernetes.io/service-name": "test-ep",
            "endpointslice.kubernetes.io/managed-by": "another.example.com",
        })
    );
    assert_eq!(metadata["annotations"], json!({"c": "d"}));
    assert_eq!(
        metadata["ownerReferences"],
        json!([{
            "apiVersion": "v1", "kind": "Endpoints", "name": "test-ep", "uid": "1",
            "controller": true, "blockOwnerDeletion": true,
        }])
    );
    assert_eq!(metadata["namespace"], "test");
    assert!(metadata["name"].as_str().unwrap().starts_with("test-ep-"));
    // Our labels on the object itself cause no write (D10, T-MIR-N10).
    assert_eq!(harness.sync(), "");
}

fn annotate(slice: &mut CompactSlice, key: &str) {
    let annotations = slice.metadata.annotations.get_or_insert_default();
    annotations.insert(key.to_owned(), "bar".to_owned());
}

/// Differences that cause a write although the endpoints are as desired (M83, T-MIR-27…30, T-MIR-47).
#[test]
fn a_slice_that_differs_is_updated() {
    type Edit = fn(&mut CompactSlice);
    let update = "update IPv4 10.0.0.1 :80";
    let edits: [(&str, Edit, &str); 8] = [
        ("T-MIR-27", |_| {}, ""),
        // Upstream adopts it; we replace it (I7).
        (
            "T-MIR-28",
            |slice| slice.metadata.owner_references.as_mut().unwrap()[0].uid = "another".into(),
            "create IPv4 10.0.0.1 :80; delete",
        ),
        (
            "M83.4: no owner reference",
            |slice| slice.metadata.owner_references = None,
            "",
        ),
        ("T-MIR-29", |slice| annotate(slice, "foo"), update),
        (
            "T-MIR-47",
            |slice| annotate(slice, "kubectl.kubernetes.io/last-applied-configuration"),
            update,
        ),
        (
            "M90",
            |slice| annotate(slice, "endpoints.kubernetes.io/last-change-trigger-time"),
            update,
        ),
        (
            "S10: a label",
            |slice| {
                let labels = slice.metadata.labels.get_or_insert_default();
                labels.insert("foo".to_owned(), "bar".to_owned());
            },
            update,
        ),
        ("S10: content", |slice| slice.endpoints.clear(), update),
    ];
    for (id, edit, expected) in edits {
        let mut harness = Harness::mirrored("10.0.0.1 :80");
        let written = harness.slices[0].clone();
        edit(&mut harness.slices[0]);
        assert_eq!(harness.sync(), expected, "{id}");
        if expected == update {
            assert_eq!(harness.slices[0], written, "{id}");
        }
        assert_eq!(harness.sync(), "", "{id}");
    }
    let mut harness = Harness::mirrored("10.0.0.1 :80");
    harness.apply(&with(
        &endpoints("10.0.0.1 :80"),
        "/metadata/labels",
        json!({"foo": "bar"}),
    ));
    assert_eq!(harness.sync(), update, "T-MIR-30");
    assert_eq!(harness.slices[0].metadata.labels.as_ref().unwrap()["foo"], "bar");
}

/// Writes after a change of the subsets.
#[test]
fn changes_of_the_object_are_mirrored() {
    for (id, before, after, expected) in [
        (
            "other address",
            "10.0.0.1 :80",
            "10.0.0.2 :80",
            "update IPv4 10.0.0.2 :80",
        ),
        (
            "other readiness",
            "10.0.0.1 :80",
            "!10.0.0.1 :80",
            "update IPv4 !10.0.0.1 :80",
        ),
        (
            "S13: other ports",
            "10.0.0.1 :80",
            "10.0.0.1 :90",
            "update IPv4 10.0.0.1 :90",
        ),
        ("S15", "10.0.0.1 :80; 10.0.0.2 :90", "", "delete; delete"),
        (
            "T-MIR-N01 (D1)",
            "10.0.0.1 :80",
            "10.0.0.1 fd00::1 :90",
            "create IPv6 fd00::1 :90; update IPv4 10.0.0.1 :90",
        ),
        (
            "T-MIR-N01 (D1)",
            "fd00::1 :80",
            "10.0.0.1 fd00::1 :90",
            "create IPv4 10.0.0.1 :90; update IPv6 fd00::1 :90",
        ),
        ("S14: one family less", "10.0.0.1 fd00::1 :80", "10.0.0.1 :80", "delete"),
    ] {
        let mut harness = Harness::mirrored(before);
        harness.apply(&endpoints(after));
        assert_eq!(harness.sync(), expected, "{id}");
        assert_eq!(harness.sync(), "", "{id}");
    }
}

/// Slices of an earlier object of the same name are deleted after the new ones were created (S4, I7).
#[test]
fn s4_a_recreated_object_gets_new_slices() {
    let mut harness = Harness::mirrored("10.0.0.1 :80");
    harness.delete(Watch::Endpoints, "test-ep");
    harness.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/uid", json!("3")));
    let SyncResult { plan, .. } = harness.sync_result();
    let dependencies: Vec<usize> = plan.writes.iter().map(|write| write.depends_on.len()).collect();
    assert_eq!(dependencies, [0, 1], "the delete depends on the create");
    assert_eq!(harness.execute(&plan), "create IPv4 10.0.0.1 :80; delete");
    let owners = harness.slices[0].metadata.owner_references.as_ref().unwrap();
    assert_eq!(owners[0].uid, "3");
}

/// Existing slices are updated, new ones are not created (T-MIR-26, M101).
#[test]
fn t_mir_26_a_terminating_object_gets_no_new_slices() {
    let terminating = |subsets: &str| {
        with(
            &endpoints(subsets),
            "/metadata/deletionTimestamp",
            json!("2024-01-02T03:04:05Z"),
        )
    };
    let mut harness = Harness::mirrored("");
    harness.apply(&terminating("10.0.0.1 :80"));
    assert_eq!(harness.sync(), "");

    let mut harness = Harness::mirrored("10.0.0.1 :80; 10.0.0.2 :90");
    harness.apply(&terminating("10.0.0.3 :80"));
    assert_eq!(harness.sync(), "update IPv4 10.0.0.3 :80; delete");
}

/// A slice that now belongs to another manager or Service keeps its name; the new slice gets another (D2, T-MIR-N02,
/// T-MIR-N03).
#[test]
fn d2_a_slice_that_was_relabelled_is_replaced() {
    for (id, label) in [
        ("T-MIR-N02", "endpointslice.kubernetes.io/managed-by"),
        ("T-MIR-N03", "kubernetes.io/service-name"),
    ] {
        let mut harness = Harness::mirrored("10.0.0.1 :80");
        let relabelled = &mut harness.slices[0];
        let labels = relabelled.metadata.labels.as_mut().unwrap();
        labels.insert(label.to_owned(), "zzz".to_owned());
        let name = relabelled.metadata.name.clone().unwrap();
        // The runtime reserves the name after the API server rejected it.
        harness.reserved_names.push(name.clone());
        assert_eq!(harness.sync(), "create IPv4 10.0.0.1 :80", "{id}");
        assert_ne!(harness.slices[1].metadata.name, Some(name), "{id}");
        assert_eq!(harness.sync(), "", "{id}");
    }
}

/// A terminating slice is neither updated nor waited for (D8, T-MIR-N08).
#[test]
fn d8_a_terminating_slice_is_ignored() {
    let mut harness = Harness::mirrored("10.0.0.1 :80");
    let metadata = &mut harness.slices[0].metadata;
    metadata.finalizers = Some(vec!["example.com/hold".into()]);
    metadata.deletion_timestamp = Some(serde_json::from_value(json!("2024-01-02T03:04:05Z")).unwrap());
    let terminating = harness.slices[0].clone();
    harness.apply(&endpoints("10.0.0.2 :80"));
    assert_eq!(harness.sync(), "create IPv4 10.0.0.2 :80");
    assert_eq!(harness.slices[0], terminating);
}

/// A failed write does not block unrelated ones (D13).
#[test]
fn d13_unrelated_writes_do_not_depend_on_each_other() {
    let mut harness = Harness::mirrored("10.0.0.9 :a/1");
    harness.apply(&endpoints("10.0.0.1 :b/80; fd00::1 :c/90"));
    let SyncResult { plan, .. } = harness.sync_result();
    assert_eq!(plan.writes.len(), 2);
    assert!(plan.writes.iter().all(|write| write.depends_on.is_empty()), "{plan:?}");
}

/// The order of existing slices does not matter; of two slices for one group the first is kept (D14, T-MIR-N15, M79).
#[test]
fn d14_plans_are_deterministic() {
    let port = json!([{"name": "", "protocol": "TCP", "port": 80}]);
    let addresses = |addresses: &[&str]| -> Value {
        let endpoint = |address: &&str| json!({"addresses": [address], "conditions": {"ready": true}});
        addresses.iter().map(endpoint).collect()
    };
    let (a, b) = (addresses(&["10.0.0.1"]), addresses(&["10.0.0.2"]));
    let slices = [stored("a", "IPv4", &port, &a), stored("b", "IPv4", &port, &b)];
    let plan = |subsets: &str, order: [usize; 2]| {
        let mut harness = Harness::new();
        harness.apply(&service(&Value::Null));
        harness.apply(&endpoints(subsets));
        harness.slices = order.map(|index| slices[index].clone()).into();
        harness.sync_result().plan
    };
    for subsets in ["10.0.0.1 :80", "10.0.0.3 10.0.0.4 10.0.0.5 :80; 10.0.0.6 :90"] {
        assert_eq!(plan(subsets, [0, 1]), plan(subsets, [1, 0]), "{subsets}");
    }
    let deletion = &plan("10.0.0.1 :80", [0, 1]).writes[..];
    assert_eq!(deletion[0].operation.to_string(), "delete b");
    assert_eq!(deletion.len(), 1, "T-MIR-N15: also without another change");
}

/// A duplicate endpoint in a slice does not hide a missing one (D9, T-MIR-N09).
#[test]
fn d9_a_duplicate_endpoint_hides_no_other() {
    let endpoint = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}});
    let port = json!([{"name": "", "protocol": "TCP", "port": 80}]);
    let mut harness = Harness::mirrored("");
    harness.slices = vec![stored("a", "IPv4", &port, &json!([endpoint, endpoint]))];
    harness.apply(&endpoints("10.0.0.1 10.0.0.2 :80"));
    assert_eq!(harness.sync(), "update IPv4 10.0.0.1 10.0.0.2 :80");
}

/// Without a uid, its slices could not be distinguished from those of an earlier object.
#[test]
fn an_object_without_uid_is_an_error() {
    let mut harness = Harness::mirrored("");
    harness.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/uid", Value::Null));
    let context = SyncContext {
        existing: &[],
        reserved_names: &[],
        now: harness.now,
    };
    let error = harness.controller.sync(&key(), &context).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("Endpoints test/test-ep has no uid"), "{error}");
}
