//! Defaults and validation of Endpoints, the input of mirroring (M8, M58–M61).

use http::Method;
use serde_json::{Value, json};

use super::fixtures::endpoints;
use super::{Api, assert_all_rejected, version, with};

fn of(name: &str, subsets: Value) -> Value {
    with(endpoints(name), "subsets", subsets)
}

#[tokio::test]
async fn defaults() {
    let api = Api::new().await;
    let created = api.create("endpoints", &endpoints("a")).await.ok();
    assert_eq!(
        created["subsets"],
        json!([{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80, "protocol": "TCP"}]}])
    );
}

/// Missing, null and empty subsets are equal (M8).
#[tokio::test]
async fn m8_empty_subsets_are_absent() {
    let api = Api::new().await;
    for (name, subsets) in [("a", json!([])), ("b", json!(null))] {
        let created = api.create("endpoints", &of(name, subsets)).await.ok();
        assert!(!created.as_object().unwrap().contains_key("subsets"), "{created}");
    }
}

/// Subsets, addresses and ports are stored as written (M47).
#[tokio::test]
async fn subsets_are_stored_unchanged() {
    let api = Api::new().await;
    let subsets = json!([
        {
            "addresses": [
                {"ip": "10.1.2.4", "hostname": "b", "nodeName": "node-1", "targetRef": {"kind": "Pod", "name": "b", "uid": "1"}},
                {"ip": "10.1.2.3"},
            ],
            "notReadyAddresses": [{"ip": "10.1.2.5"}],
            "ports": [{"name": "b", "port": 81, "protocol": "UDP"}, {"name": "a", "port": 80, "protocol": "TCP", "appProtocol": "http"}],
        },
        {"addresses": [{"ip": "fd00::1"}]},
    ]);
    let created = api.create("endpoints", &of("a", subsets.clone())).await.ok();
    assert_eq!(created["subsets"], subsets);
    assert_eq!(created["metadata"]["generation"], json!(null));
}

/// Every request for Endpoints gets a warning.
#[tokio::test]
async fn endpoints_are_deprecated() {
    let api = Api::new().await;
    let created = api.create("endpoints", &endpoints("a")).await;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = api.patch("merge", "endpoints", "a", &patch).await;
    let read = api.get("endpoints", "a").await;
    let listed = api.list("endpoints", "").await;
    let deleted = api.delete("endpoints", "a", &json!({})).await;
    for response in [created, patched, read, listed, deleted] {
        let [warning] = &response.warnings[..] else {
            panic!("{response:?}")
        };
        assert!(warning.starts_with("299 - \"v1 Endpoints is deprecated"), "{warning}");
    }
}

#[tokio::test]
async fn validation() {
    let address = |ip: &str| of("bad", json!([{"addresses": [{"ip": ip}], "ports": [{"port": 80}]}]));
    let ports = |ports: Value| of("bad", json!([{"addresses": [{"ip": "10.1.2.3"}], "ports": ports}]));
    let field =
        |name: &str, value: &str| with(endpoints("bad"), &format!("subsets.0.addresses.0.{name}"), json!(value));
    let ip = &["FieldValueInvalid subsets[0].addresses[0].ip"];
    assert_all_rejected(
        "endpoints",
        vec![
            (
                of("bad", json!([{"ports": [{"port": 80}]}])),
                &["FieldValueRequired subsets[0]"],
            ),
            (address("nonsense"), ip),
            (address("127.0.0.1"), ip),
            (address("169.254.1.1"), ip),
            (address("0.0.0.0"), ip),
            (address("224.0.0.1"), ip),
            (address("010.1.2.3"), ip),
            (address("::ffff:10.1.2.3"), ip),
            (address("::1"), ip),
            (
                ports(json!([{"port": 0}])),
                &["FieldValueInvalid subsets[0].ports[0].port"],
            ),
            (
                ports(json!([{"port": 70_000}])),
                &["FieldValueInvalid subsets[0].ports[0].port"],
            ),
            (
                ports(json!([{"port": 1}, {"port": 2}])),
                &[
                    "FieldValueRequired subsets[0].ports[0].name",
                    "FieldValueRequired subsets[0].ports[1].name",
                ],
            ),
            (
                ports(json!([{"port": 1, "name": "A"}])),
                &["FieldValueInvalid subsets[0].ports[0].name"],
            ),
            (
                ports(json!([{"port": 1, "protocol": "foo"}])),
                &["FieldValueNotSupported subsets[0].ports[0].protocol"],
            ),
            (
                ports(json!([{"port": 1, "appProtocol": "--"}])),
                &["FieldValueInvalid subsets[0].ports[0].appProtocol"],
            ),
            (
                field("hostname", "--"),
                &["FieldValueInvalid subsets[0].addresses[0].hostname"],
            ),
            (
                field("nodeName", "--"),
                &["FieldValueInvalid subsets[0].addresses[0].nodeName"],
            ),
            (endpoints("_"), &["FieldValueInvalid metadata.name"]),
        ],
    )
    .await;
}

/// Two ports with the same name are valid here, unlike in a slice (D3).
#[tokio::test]
async fn port_names_may_repeat() {
    let api = Api::new().await;
    let twice =
        json!([{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}]);
    assert_eq!(api.create("endpoints", &of("a", twice)).await.code, 201);
}

/// Updates without a version are unconditional for Endpoints, too, and a PUT creates them, unlike other kinds (R142).
#[tokio::test]
async fn an_update_creates_endpoints() {
    let api = Api::new().await;
    let path = format!("{}/a", api.collection("endpoints"));
    let created = api.send(Method::PUT, &path, &endpoints("a")).await;
    assert_eq!(created.code, 201, "{created:?}");
    let created = created.ok();
    let again = api.update("endpoints", &endpoints("a")).await.ok();
    assert_eq!(version(&again), version(&created), "nothing changed");
}

/// Annotations can change on their own (M13).
#[tokio::test]
async fn annotations_change_only_the_version() {
    let api = Api::new().await;
    let created = api.create("endpoints", &endpoints("a")).await.ok();
    let annotated = with(created.clone(), "metadata.annotations", json!({"a": "b"}));
    let annotated = api.update("endpoints", &annotated).await.ok();
    assert_ne!(version(&annotated), version(&created));
    assert_eq!(annotated["subsets"], created["subsets"]);
}
