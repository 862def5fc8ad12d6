//! What is written for an object that is mirrored.

use super::*;

/// T-MIR-11, T-MIR-13, T-MIR-18, T-MIR-19, T-MIR-N21: actions and slices.
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
        let mut stage = Stage::new();
        stage.apply(&service);
        stage.apply(&endpoints(&subsets));
        let writes = stage.sync();
        assert_eq!(writes.matches("create").count(), sizes.len(), "{id}");
        let written: Vec<usize> = stage.slices.iter().map(|slice| slice.endpoints.len()).collect();
        assert_eq!(written, sizes, "{id}");
        assert_eq!(stage.sync(), "", "{id}: I6, nothing is left to do");
    }
}

/// M87–M95: what a new slice bears.
#[test]
fn m87_to_m95_a_slice_says_whose_it_is() {
    let config = Config {
        managed_by: "another.example.com".into(),
        ..config()
    };
    let mut stage = Stage::with(config);
    stage.apply(&service(&Value::Null));
    let labels = json!({"a": "b", "endpointslice.kubernetes.io/managed-by": "x", "kubernetes.io/service-name": "x"});
    let annotations = json!({
        "c": "d", "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "endpoints.kubernetes.io/last-change-trigger-time": "2024-01-02T03:04:05Z",
    });
    let object = with(&endpoints("10.0.0.1 :80"), "/metadata/labels", labels);
    stage.apply(&with(&object, "/metadata/annotations", annotations));
    assert_eq!(stage.sync(), "create IPv4 10.0.0.1 :80");
    let metadata = serde_json::to_value(&stage.slices[0].metadata).unwrap();
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
    // D10, T-MIR-N10: the labels that the object has, too, are no reason to write.
    assert_eq!(stage.sync(), "");
}

fn annotate(slice: &mut CompactSlice, key: &str) {
    let annotations = slice.metadata.annotations.get_or_insert_default();
    annotations.insert(key.to_owned(), "bar".to_owned());
}

/// M83, T-MIR-27…30, T-MIR-47: what is a reason to write a slice that holds what it should.
#[test]
fn a_slice_is_written_when_it_differs() {
    type Edit = fn(&mut CompactSlice);
    let update = "update IPv4 10.0.0.1 :80";
    let edits: [(&str, Edit, &str); 8] = [
        ("T-MIR-27", |_| {}, ""),
        // Upstream adopts it; we never do (I7).
        (
            "T-MIR-28",
            |slice| slice.metadata.owner_references.as_mut().unwrap()[0].uid = "another".into(),
            "create IPv4 10.0.0.1 :80; delete",
        ),
        ("M83.4: nobody's", |slice| slice.metadata.owner_references = None, ""),
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
        let mut stage = Stage::settled("10.0.0.1 :80");
        let written = stage.slices[0].clone();
        edit(&mut stage.slices[0]);
        assert_eq!(stage.sync(), expected, "{id}");
        if expected == update {
            assert_eq!(stage.slices[0], written, "{id}");
        }
        assert_eq!(stage.sync(), "", "{id}");
    }
    let mut stage = Stage::settled("10.0.0.1 :80");
    stage.apply(&with(
        &endpoints("10.0.0.1 :80"),
        "/metadata/labels",
        json!({"foo": "bar"}),
    ));
    assert_eq!(stage.sync(), update, "T-MIR-30");
    assert_eq!(stage.slices[0].metadata.labels.as_ref().unwrap()["foo"], "bar");
}

/// From what is mirrored to what should be.
#[test]
fn changes_of_the_object_are_followed() {
    for (id, before, now, expected) in [
        (
            "another address",
            "10.0.0.1 :80",
            "10.0.0.2 :80",
            "update IPv4 10.0.0.2 :80",
        ),
        (
            "another readiness",
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
        ("S14: a family less", "10.0.0.1 fd00::1 :80", "10.0.0.1 :80", "delete"),
    ] {
        let mut stage = Stage::settled(before);
        stage.apply(&endpoints(now));
        assert_eq!(stage.sync(), expected, "{id}");
        assert_eq!(stage.sync(), "", "{id}");
    }
}

/// S4, I7: the slices of an earlier object of the same name are replaced, and never without a successor.
#[test]
fn s4_an_object_made_anew_gets_slices_of_its_own() {
    let mut stage = Stage::settled("10.0.0.1 :80");
    stage.delete(Watch::Endpoints, "test-ep");
    stage.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/uid", json!("3")));
    let SyncResult { plan, .. } = stage.decide();
    let waits: Vec<usize> = plan.writes.iter().map(|write| write.after.len()).collect();
    assert_eq!(waits, [0, 1], "the deletion waits for the creation");
    assert_eq!(stage.carry_out(&plan), "create IPv4 10.0.0.1 :80; delete");
    let owners = stage.slices[0].metadata.owner_references.as_ref().unwrap();
    assert_eq!(owners[0].uid, "3");
}

/// M101: T-MIR-26. What is there is kept up, nothing new is made.
#[test]
fn t_mir_26_an_object_that_is_being_deleted_gets_nothing_new() {
    let ending = |subsets: &str| {
        with(
            &endpoints(subsets),
            "/metadata/deletionTimestamp",
            json!("2024-01-02T03:04:05Z"),
        )
    };
    let mut stage = Stage::settled("");
    stage.apply(&ending("10.0.0.1 :80"));
    assert_eq!(stage.sync(), "");

    let mut stage = Stage::settled("10.0.0.1 :80; 10.0.0.2 :90");
    stage.apply(&ending("10.0.0.3 :80"));
    assert_eq!(stage.sync(), "update IPv4 10.0.0.3 :80; delete");
}

/// D2: T-MIR-N02, T-MIR-N03. A slice that was given to somebody else keeps its name; ours gets another.
#[test]
fn d2_a_slice_that_was_relabelled_is_replaced() {
    for (id, label) in [
        ("T-MIR-N02", "endpointslice.kubernetes.io/managed-by"),
        ("T-MIR-N03", "kubernetes.io/service-name"),
    ] {
        let mut stage = Stage::settled("10.0.0.1 :80");
        let lost = &mut stage.slices[0];
        let labels = lost.metadata.labels.as_mut().unwrap();
        labels.insert(label.to_owned(), "zzz".to_owned());
        let name = lost.metadata.name.clone().unwrap();
        // What whoever carries plans out learns from the server, which refuses the name.
        stage.taken.push(name.clone());
        assert_eq!(stage.sync(), "create IPv4 10.0.0.1 :80", "{id}");
        assert_ne!(stage.slices[1].metadata.name, Some(name), "{id}");
        assert_eq!(stage.sync(), "", "{id}");
    }
}

/// D8: T-MIR-N08.
#[test]
fn d8_a_slice_that_is_being_deleted_blocks_nobody() {
    let mut stage = Stage::settled("10.0.0.1 :80");
    let metadata = &mut stage.slices[0].metadata;
    metadata.finalizers = Some(vec!["example.com/hold".into()]);
    metadata.deletion_timestamp = Some(serde_json::from_value(json!("2024-01-02T03:04:05Z")).unwrap());
    let held = stage.slices[0].clone();
    stage.apply(&endpoints("10.0.0.2 :80"));
    assert_eq!(stage.sync(), "create IPv4 10.0.0.2 :80");
    assert_eq!(stage.slices[0], held);
}

/// D13: what is right is written, whatever becomes of what is wrong.
#[test]
fn d13_no_write_waits_for_one_that_it_has_nothing_to_do_with() {
    let mut stage = Stage::settled("10.0.0.9 :a/1");
    stage.apply(&endpoints("10.0.0.1 :b/80; fd00::1 :c/90"));
    let SyncResult { plan, .. } = stage.decide();
    assert_eq!(plan.writes.len(), 2);
    assert!(plan.writes.iter().all(|write| write.after.is_empty()), "{plan:?}");
}

/// D14: T-MIR-N15 (M79). Equal states give equal plans, and of two slices for the same the first stays.
#[test]
fn d14_nothing_is_left_to_chance() {
    let port = json!([{"name": "", "protocol": "TCP", "port": 80}]);
    let addresses = |addresses: &[&str]| -> Value {
        let endpoint = |address: &&str| json!({"addresses": [address], "conditions": {"ready": true}});
        addresses.iter().map(endpoint).collect()
    };
    let (a, b) = (addresses(&["10.0.0.1"]), addresses(&["10.0.0.2"]));
    let slices = [stored("a", "IPv4", &port, &a), stored("b", "IPv4", &port, &b)];
    let plan = |subsets: &str, order: [usize; 2]| {
        let mut stage = Stage::new();
        stage.apply(&service(&Value::Null));
        stage.apply(&endpoints(subsets));
        stage.slices = order.map(|place| slices[place].clone()).into();
        stage.decide().plan
    };
    for subsets in ["10.0.0.1 :80", "10.0.0.3 10.0.0.4 10.0.0.5 :80; 10.0.0.6 :90"] {
        assert_eq!(plan(subsets, [0, 1]), plan(subsets, [1, 0]), "{subsets}");
    }
    let deletion = &plan("10.0.0.1 :80", [0, 1]).writes[..];
    assert_eq!(deletion[0].operation.to_string(), "delete b");
    assert_eq!(deletion.len(), 1, "T-MIR-N15: also when nothing else changes");
}

/// D9: T-MIR-N09.
#[test]
fn d9_an_endpoint_that_is_there_twice_hides_no_other() {
    let endpoint = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}});
    let port = json!([{"name": "", "protocol": "TCP", "port": 80}]);
    let mut stage = Stage::settled("");
    stage.slices = vec![stored("a", "IPv4", &port, &json!([endpoint, endpoint]))];
    stage.apply(&endpoints("10.0.0.1 10.0.0.2 :80"));
    assert_eq!(stage.sync(), "update IPv4 10.0.0.1 10.0.0.2 :80");
}

/// Without a uid nobody could tell its slices from those of an earlier object.
#[test]
fn an_object_without_uid_is_an_error() {
    let mut stage = Stage::settled("");
    stage.apply(&with(&endpoints("10.0.0.1 :80"), "/metadata/uid", Value::Null));
    let context = SyncContext {
        existing: &[],
        reserved_names: &[],
        now: stage.now,
    };
    let error = stage.controller.sync(&key(), &context).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("Endpoints test/test-ep has no uid"), "{error}");
}
