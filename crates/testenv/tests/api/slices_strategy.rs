//! Defaults, generation and dropped fields of an EndpointSlice (R140–R148).

use http::Method;
use serde_json::{Value, json};

use super::fixtures::{slice, slice_of};
use super::{Api, version, with};

/// Hints for nodes are kept, also on update (T-API-06).
#[tokio::test]
async fn t_api_01_04_and_06_hints_are_kept() {
    let api = Api::new().await;
    let hints = json!({"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "node-1"}]});
    let hinted = with(slice("a"), "endpoints.0.hints", hints.clone());
    let created = api.create("endpointslices", &hinted).await.ok();
    assert_eq!(created["endpoints"][0]["hints"], hints);
    let nodes = json!({"forNodes": [{"name": "node-2"}]});
    let updated = with(created, "endpoints.0.hints", nodes.clone());
    let updated = api.update("endpointslices", &updated).await.ok();
    assert_eq!(updated["endpoints"][0]["hints"], nodes);
}

/// Content and labels increase the generation, other metadata does not (R125, R140, M26).
#[tokio::test]
async fn t_api_07_to_09_generation_counts_content_and_labels() {
    let api = Api::new().await;
    let mut stored = api.create("endpointslices", &slice("a")).await.ok();
    assert_eq!(stored["metadata"]["generation"], 1);
    let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "a", "uid": "1"}]);
    let changes = [
        ("nothing", "metadata.name", json!("a"), 1),
        ("address", "endpoints.0.addresses.0", json!("10.1.2.4"), 2),
        ("label", "metadata.labels", json!({"a": "b"}), 3),
        ("annotation", "metadata.annotations", json!({"a": "b"}), 3),
        ("finalizer", "metadata.finalizers", json!(["example.com/hold"]), 3),
        ("owner", "metadata.ownerReferences", owner, 3),
        ("port", "ports.0.port", json!(81), 4),
        ("empty condition", "endpoints.0.conditions", json!({}), 4),
        ("condition", "endpoints.0.conditions.ready", json!(true), 5),
        ("generation", "metadata.generation", json!(77), 5),
        ("absent to empty", "endpoints", json!([]), 6),
        ("empty to absent", "endpoints", json!(null), 6),
        ("no label", "metadata.labels", json!({}), 7),
        ("generateName", "metadata.generateName", json!("a-"), 7),
    ];
    for (change, path, value, generation) in changes {
        let response = api.update("endpointslices", &with(stored, path, value)).await;
        stored = response.ok();
        assert_eq!(stored["metadata"]["generation"], generation, "{change}");
    }
}

/// A deletion timestamp increases the generation (M26).
#[tokio::test]
async fn generation_counts_the_deletion_mark() {
    let api = Api::new().await;
    let held = with(slice("a"), "metadata.finalizers", json!(["example.com/hold"]));
    api.create("endpointslices", &held).await.ok();
    let marked = api.delete("endpointslices", "a", &json!({})).await.ok();
    assert_eq!(marked["metadata"]["generation"], 2);
}

/// deprecatedTopology is dropped in v1 (R147).
#[tokio::test]
async fn t_api_10_and_12_deprecated_topology_is_dropped() {
    let api = Api::new().await;
    let topology = with(slice("a"), "endpoints.0.deprecatedTopology", json!({"key": "value"}));
    let created = api.create("endpointslices", &topology).await.ok();
    assert_eq!(created["endpoints"], slice("a")["endpoints"].clone().defaulted());
    let host = json!({"kubernetes.io/hostname": "node-1"});
    let updated = with(created, "endpoints.0.deprecatedTopology", host);
    let updated = api.update("endpointslices", &updated).await.ok();
    assert_eq!(updated["endpoints"], slice("a")["endpoints"].clone().defaulted());
}

/// The version with topology, v1beta1, is not served (T-API-11, -13, -15, -17).
#[tokio::test]
async fn t_api_11_13_15_and_17_v1beta1_is_not_served() {
    let api = Api::new().await;
    api.create("endpointslices", &slice("a")).await.ok();
    let collection = api.collection("endpointslices").replace("/v1/", "/v1beta1/");
    let object = format!("{collection}/a");
    for (method, path) in [(Method::POST, &collection), (Method::PUT, &object)] {
        let response = api.send(method, path, &slice("a")).await;
        assert_eq!(response.code, 404, "{path}: {response:?}");
    }
}

/// The defaults of an endpoint list without conditions.
trait Defaulted {
    fn defaulted(self) -> Value;
}

impl Defaulted for Value {
    fn defaulted(self) -> Value {
        with(self, "0.conditions", json!({}))
    }
}

#[tokio::test]
async fn t_api_28_to_30_only_names_as_addresses_are_warned_about() {
    let api = Api::new().await;
    for (name, slice, warnings) in [
        ("a", slice_of("a", "FQDN", &["example.com"]), 1),
        ("b", slice_of("b", "IPv4", &["10.1.2.3"]), 0),
        ("c", slice_of("c", "IPv6", &["fd00::1"]), 0),
    ] {
        let response = api.create("endpointslices", &slice).await;
        assert_eq!(
            (response.code, response.warnings.len()),
            (201, warnings),
            "{name}: {response:?}"
        );
    }
    let again = api
        .update("endpointslices", &slice_of("a", "FQDN", &["example.org"]))
        .await;
    assert_eq!((again.code, again.warnings), (200, vec![]));
}

/// A `Warning` header is `299 - "text"`.
#[tokio::test]
async fn a_warning_is_a_quoted_header() {
    let api = Api::new().await;
    let response = api
        .create("endpointslices", &slice_of("a", "FQDN", &["example.com"]))
        .await;
    let [warning] = &response.warnings[..] else {
        panic!("{response:?}")
    };
    assert!(warning.starts_with("299 - \"") && warning.ends_with('"'), "{warning}");
}

#[tokio::test]
async fn t_api_31_and_32_good_addresses_give_no_warning() {
    let api = Api::new().await;
    let empty = with(slice("a"), "endpoints", json!([]));
    for slice in [
        empty,
        slice_of("b", "IPv4", &["1.2.3.4"]),
        slice_of("c", "IPv6", &["fd00::1234"]),
    ] {
        let response = api.create("endpointslices", &slice).await;
        assert_eq!((response.code, response.warnings), (201, vec![]));
    }
}

#[tokio::test]
async fn t_api_35_to_40_creates() {
    let api = Api::new().await;
    let addresses = |count: usize| (0..count).map(|i| format!("10.3.0.{}", i + 1)).collect::<Vec<_>>();
    let many = |name: &str, count| with(slice(name), "endpoints.0.addresses", json!(addresses(count)));
    let mut untyped = slice("f");
    untyped.as_object_mut().unwrap().remove("addressType");
    let cases: [(Value, &[&str]); 6] = [
        (slice("a"), &[]),
        (many("b", 100), &[]),
        (many("c", 0), &["FieldValueRequired endpoints[0].addresses"]),
        (many("d", 101), &["FieldValueTooMany endpoints[0].addresses"]),
        (untyped, &["FieldValueRequired addressType"]),
        (
            with(slice("g"), "addressType", json!("invalid")),
            &["FieldValueNotSupported addressType"],
        ),
    ];
    for (slice, causes) in cases {
        let response = api.create("endpointslices", &slice).await;
        assert_eq!(response.causes(), causes, "{response:?}");
    }
}

#[tokio::test]
async fn t_api_41_to_45_updates() {
    let api = Api::new().await;
    let stored = api.create("endpointslices", &slice("a")).await.ok();
    let addresses = |count: usize| (0..count).map(|i| format!("10.3.0.{}", i + 1)).collect::<Vec<_>>();
    let many = |count| json!(addresses(count));
    let cases: [(&str, Value, &[&str]); 5] = [
        ("metadata.name", json!("a"), &[]),
        ("addressType", json!("IPv6"), &["FieldValueInvalid addressType"]),
        ("endpoints.0.addresses", many(100), &[]),
        (
            "endpoints.0.addresses",
            many(0),
            &["FieldValueRequired endpoints[0].addresses"],
        ),
        (
            "endpoints.0.addresses",
            many(101),
            &["FieldValueTooMany endpoints[0].addresses"],
        ),
    ];
    for (path, value, causes) in cases {
        let changed = with(stored.clone(), path, value);
        let changed = with(changed, "metadata.resourceVersion", json!(""));
        let response = api.update("endpointslices", &changed).await;
        assert_eq!(response.causes(), causes, "{path}: {response:?}");
    }
}

/// A missing port name is empty, a missing protocol is TCP; conditions are an empty object (R74, R145).
#[tokio::test]
async fn r145_defaults() {
    let api = Api::new().await;
    let bare = with(slice("a"), "ports", json!([{"port": 80}]));
    let created = api.create("endpointslices", &bare).await.ok();
    assert_eq!(created["ports"], json!([{"name": "", "protocol": "TCP", "port": 80}]));
    assert_eq!(
        created["endpoints"],
        json!([{"addresses": ["10.1.2.3"], "conditions": {}}])
    );
    let nothing = with(slice("b"), "ports", json!([{}]));
    let created = api.create("endpointslices", &nothing).await.ok();
    assert_eq!(created["ports"], json!([{"name": "", "protocol": "TCP"}]));
}

/// Absent, null and empty lists are equal and returned as null (R148, trap 23).
#[tokio::test]
async fn r148_empty_lists_are_read_as_null() {
    let api = Api::new().await;
    for (name, list) in [("a", json!([])), ("b", json!(null))] {
        let empty = with(slice(name), "ports", list.clone());
        let empty = with(empty, "endpoints", list);
        let created = api.create("endpointslices", &empty).await.ok();
        assert_eq!((&created["ports"], &created["endpoints"]), (&json!(null), &json!(null)));
        let object = created.as_object().unwrap();
        assert!(
            object.contains_key("ports") && object.contains_key("endpoints"),
            "{name}: {created}"
        );
        let read = api.get("endpointslices", name).await.ok();
        assert_eq!(read, created, "{name}");
    }
    let mut bare = slice("c");
    bare.as_object_mut()
        .unwrap()
        .retain(|key, _| key != "ports" && key != "endpoints");
    let created = api.create("endpointslices", &bare).await.ok();
    assert_eq!((&created["ports"], &created["endpoints"]), (&json!(null), &json!(null)));
}

/// Unknown fields are dropped, and so is `status`.
#[tokio::test]
async fn unknown_fields_are_dropped() {
    let api = Api::new().await;
    let odd = with(slice("a"), "status", json!({"x": 1}));
    let odd = with(odd, "endpoints.0.colour", json!("red"));
    let created = api.create("endpointslices", &odd).await.ok();
    assert_eq!(created["status"], json!(null));
    assert_eq!(
        created["endpoints"],
        json!([{"addresses": ["10.1.2.3"], "conditions": {}}])
    );
}

/// Metadata that the server sets, whatever the client sends.
#[tokio::test]
async fn the_server_owns_some_metadata() {
    let api = Api::new().await;
    let forged = with(slice("a"), "metadata.uid", json!("mine"));
    let forged = with(forged, "metadata.generation", json!(7));
    let forged = with(forged, "metadata.creationTimestamp", json!("2001-01-01T00:00:00Z"));
    let forged = with(forged, "metadata.deletionTimestamp", json!("2001-01-01T00:00:00Z"));
    let created = api.create("endpointslices", &forged).await.ok();
    let metadata = &created["metadata"];
    assert_eq!(metadata["namespace"], json!(api.namespace));
    assert_eq!(metadata["generation"], 1);
    assert_ne!(metadata["uid"], "mine");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_ne!(metadata["creationTimestamp"], "2001-01-01T00:00:00Z");
    assert_eq!(metadata["deletionTimestamp"], json!(null));
    assert!(version(&created).parse::<u64>().unwrap() > 0);
}

/// Conditions and all other fields are returned as sent, so that a comparison finds no difference.
#[tokio::test]
async fn a_full_slice_is_stored_unchanged() {
    let api = Api::new().await;
    let full = json!({
        "addresses": ["10.1.2.3"],
        "conditions": {"ready": false, "serving": true, "terminating": true},
        "hostname": "web-0",
        "nodeName": "node-1",
        "zone": "zone-a",
        "hints": {"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "node-1"}]},
        "targetRef": {"kind": "Pod", "namespace": "x", "name": "web-0", "uid": "1"},
    });
    let owner = json!([{
        "apiVersion": "v1", "kind": "Service", "name": "web", "uid": "1", "controller": true, "blockOwnerDeletion": true
    }]);
    let sent = with(slice("a"), "endpoints", json!([full]));
    let sent = with(sent, "metadata.ownerReferences", owner);
    let sent = with(sent, "metadata.labels", json!({"kubernetes.io/service-name": "web"}));
    let sent = with(sent, "ports.0.appProtocol", json!("http"));
    let read = api.create("endpointslices", &sent).await.ok();
    for part in ["addressType", "endpoints", "ports", "apiVersion", "kind"] {
        assert_eq!(read[part], sent[part], "{part}");
    }
    for part in ["labels", "ownerReferences"] {
        assert_eq!(read["metadata"][part], sent["metadata"][part], "{part}");
    }
}
