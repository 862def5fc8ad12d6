use k8s_openapi::api::core::v1::Endpoints;
use serde_json::{Value, json};

use crate::kinds::{
    ClusterIps, Kind,
    fixtures::{create, object, summary, update},
};

fn body(subsets: &Value) -> Value {
    json!({ "metadata": { "name": "web", "namespace": "ns" }, "subsets": subsets })
}

fn created(subsets: &Value) -> Result<Endpoints, Vec<String>> {
    create(body(subsets), &mut ClusterIps::default()).map_err(|errors| summary(&errors))
}

#[test]
fn protocol_defaults_to_tcp() {
    let stored = created(&json!([{ "addresses": [{ "ip": "10.1.1.1" }], "ports": [{ "port": 80 }] }]));
    let subsets = serde_json::to_value(stored.unwrap().subsets).unwrap();
    assert_eq!(subsets[0]["ports"], json!([{ "port": 80, "protocol": "TCP" }]));
}

#[test]
fn invalid_addresses_are_rejected() {
    // A malformed address has two errors: one as an IP address, one as an endpoint address.
    for (ip, errors) in [
        ("10.1.1.1", 0),
        ("FD00::1", 0),
        ("x", 2),
        ("01.2.3.4", 1),
        ("::ffff:1.2.3.4", 1),
        ("127.0.0.1", 1),
        ("169.254.0.1", 1),
        ("224.0.0.1", 1),
        ("0.0.0.0", 1),
    ] {
        for list in ["addresses", "notReadyAddresses"] {
            let found = created(&json!([{ list: [{ "ip": ip }] }])).err().unwrap_or_default();
            assert_eq!(
                found,
                vec![format!("subsets[0].{list}[0].ip FieldValueInvalid"); errors],
                "{ip}"
            );
        }
    }
    assert_eq!(
        created(&json!([{}])),
        Err(vec!["subsets[0] FieldValueRequired".to_owned()])
    );
}

#[test]
fn invalid_names_and_ports_are_rejected() {
    let found = created(&json!([{
        "addresses": [{ "ip": "1.2.3.4", "hostname": "a.b", "nodeName": "A" }],
        "ports": [{ "port": 0 }, { "port": 70000, "name": "A", "protocol": "X", "appProtocol": "--" }],
    }]));
    let expected = [
        "subsets[0].addresses[0].hostname FieldValueInvalid",
        "subsets[0].addresses[0].nodeName FieldValueInvalid",
        "subsets[0].ports[0].name FieldValueRequired",
        "subsets[0].ports[0].port FieldValueInvalid",
        "subsets[0].ports[1].name FieldValueInvalid",
        "subsets[0].ports[1].port FieldValueInvalid",
        "subsets[0].ports[1].protocol FieldValueNotSupported",
        "subsets[0].ports[1].appProtocol FieldValueInvalid",
    ];
    assert_eq!(found, Err(expected.map(str::to_owned).to_vec()));
}

#[test]
fn unchanged_subsets_are_not_validated_again() {
    let mut old: Endpoints = object(body(&json!([{ "addresses": [{ "ip": "010.1.1.1" }] }])));
    Kind::set_defaults(&mut old);
    let mut new = old.clone();
    new.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    assert!(update(&old, new, &mut ClusterIps::default()).is_ok());
    let other = object(body(&json!([{ "addresses": [{ "ip": "010.1.1.2" }] }])));
    assert!(update(&old, other, &mut ClusterIps::default()).is_err());
}

#[test]
fn non_canonical_addresses_get_warnings_except_from_the_endpoints_controller() {
    let mut stored = created(&json!([{ "addresses": [{ "ip": "FD00::1" }] }])).unwrap();
    assert_eq!(stored.warnings(None).len(), 1);
    let managed = (
        "endpoints.kubernetes.io/managed-by".to_owned(),
        "endpoint-controller".to_owned(),
    );
    stored.metadata.labels = Some([managed].into());
    assert_eq!(stored.warnings(None).len(), 0);
}
