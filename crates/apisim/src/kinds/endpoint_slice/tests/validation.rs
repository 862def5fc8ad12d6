use serde_json::{Value, json};

use super::{endpoints, slice};
use crate::kinds::{Kind, fixtures::summary};

/// Id, address type, addresses, indices of the rejected addresses; `None` is an error of the whole list.
type AddressCase<'a> = (&'a str, &'a str, &'a [&'a str], &'a [Option<usize>]);

const ENDPOINT: &str = "endpoints[0]";

#[test]
fn t_val_01_to_13_valid_slices() {
    let many = |count: usize, make: fn(usize) -> Value| (0..count).map(make).collect::<Vec<_>>();
    let cases = [
        (
            "01",
            json!({ "ports": [{ "name": "http" }],
            "endpoints": [{ "addresses": ["10.1.2.3"], "hostname": "valid-123" }] }),
        ),
        (
            "02",
            json!({ "addressType": "IPv6", "endpoints": [{ "addresses": ["a00:100::4"] }] }),
        ),
        (
            "03",
            json!({ "addressType": "FQDN", "endpoints": [{ "addresses":
            ["foo.example.com", "example.com.", "hyphens-are-good.example.com"] }] }),
        ),
        (
            "04",
            json!({ "ports": [{ "name": "a", "protocol": "TCP" }, { "name": "b", "protocol": "UDP" },
            { "name": "c", "protocol": "SCTP" }] }),
        ),
        (
            "05",
            json!({ "ports": [{ "name": "a", "appProtocol": "HTTP" }, { "name": "b", "appProtocol": "https" },
            { "name": "c", "appProtocol": "my-protocol" },
            { "name": "d", "appProtocol": "example.com/custom-protocol" }] }),
        ),
        ("06", json!({ "ports": [{ "name": "" }, { "name": "http" }] })),
        ("07", json!({ "ports": [{ "name": "a".repeat(63) }] })),
        ("08", json!({ "ports": [], "endpoints": [] })),
        (
            "09",
            json!({ "endpoints": many(1000, |_| json!({ "addresses": ["10.1.2.3"] })) }),
        ),
        (
            "10",
            json!({ "ports": many(20_000, |i| json!({ "name": format!("p{i}") })) }),
        ),
        (
            "11",
            json!({ "endpoints": [{ "addresses": many(100, |i| json!(format!("10.1.2.{i}"))) }] }),
        ),
        (
            "12",
            json!({ "endpoints": [{ "addresses": ["10.1.2.3"], "deprecatedTopology": topology(16) }] }),
        ),
        (
            "13",
            json!({ "endpoints": [{ "addresses": ["10.1.2.3"],
            "hints": { "forZones": [{ "name": "zone-a" }], "forNodes": [{ "name": "node-1" }] } }] }),
        ),
    ];
    for (id, fields) in cases {
        assert_eq!(slice(&fields).validate(), [], "T-VAL-{id}");
    }
}

#[test]
fn t_val_15_to_21_and_33_ports_and_limits() {
    check(
        "T-VAL-15",
        &json!({ "ports": [{}, { "name": "" }] }),
        &["ports[1].name FieldValueDuplicate"],
    );
    for (id, name) in [("16", "aCapital"), ("17", "almost_valid"), ("18", &"a".repeat(64))] {
        let ports = json!({ "ports": [{ "name": name }] });
        check(&format!("T-VAL-{id}"), &ports, &["ports[0].name FieldValueInvalid"]);
    }
    let ports = json!({ "ports": [{ "protocol": "foo" }] });
    check("T-VAL-19", &ports, &["ports[0].protocol FieldValueNotSupported"]);
    let ports: Vec<_> = (0..20_001).map(|i| json!({ "name": format!("p{i}") })).collect();
    check("T-VAL-20", &json!({ "ports": ports }), &["ports FieldValueTooMany"]);
    let many = vec![json!({ "addresses": ["10.1.2.3"] }); 1001];
    check(
        "T-VAL-21",
        &json!({ "endpoints": many }),
        &["endpoints FieldValueTooMany"],
    );
    let ports = json!({ "ports": [{ "appProtocol": "--" }] });
    check("T-VAL-33", &ports, &["ports[0].appProtocol FieldValueInvalid"]);
}

fn check_endpoint(id: &str, fields: Value, expected: &[&str]) {
    let expected: Vec<_> = expected.iter().map(|error| format!("{ENDPOINT}.{error}")).collect();
    let found = summary(&endpoints(&[fields]).validate());
    assert_eq!(found, expected, "{id}");
}

#[test]
fn t_val_22_to_26_41_and_46_fields_of_endpoints() {
    let addresses: Vec<_> = (0..101).map(|i| format!("10.1.2.{i}")).collect();
    let zone_key = "topology.kubernetes.io/zone";
    check_endpoint(
        "T-VAL-22",
        json!({ "addresses": [] }),
        &["addresses FieldValueRequired"],
    );
    check_endpoint(
        "T-VAL-23",
        json!({ "addresses": addresses }),
        &["addresses FieldValueTooMany"],
    );
    check_endpoint(
        "T-VAL-24",
        json!({ "deprecatedTopology": { "--INVALID": "x" } }),
        &["deprecatedTopology FieldValueInvalid"],
    );
    check_endpoint(
        "T-VAL-25",
        json!({ "deprecatedTopology": topology(17) }),
        &["deprecatedTopology FieldValueTooMany"],
    );
    check_endpoint(
        "T-VAL-26",
        json!({ "hostname": "--INVALID" }),
        &["hostname FieldValueInvalid"],
    );
    check_endpoint(
        "T-VAL-41",
        json!({ "deprecatedTopology": { zone_key: "a" } }),
        &["deprecatedTopology[topology.kubernetes.io/zone] InternalError"],
    );
    check_endpoint(
        "T-VAL-46",
        json!({ "nodeName": "INvalid-node-name" }),
        &["nodeName FieldValueInvalid"],
    );
}

#[test]
fn t_val_34_to_39_hints() {
    let zones = |names: &[&str]| json!({ "hints": { "forZones": named(names) } });
    let nodes = |names: &[&str]| json!({ "hints": { "forNodes": named(names) } });
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    check_endpoint(
        "T-VAL-34",
        zones(&["inv@lid"]),
        &["hints.forZones[0].name FieldValueInvalid"],
    );
    check_endpoint(
        "T-VAL-35",
        zones(&["a", "a"]),
        &["hints.forZones[1].name FieldValueDuplicate"],
    );
    check_endpoint("T-VAL-36", zones(&nine), &["hints.forZones FieldValueTooMany"]);
    check_endpoint(
        "T-VAL-37",
        nodes(&["!@#$!@", ""]),
        &[
            "hints.forNodes[0].name FieldValueInvalid",
            "hints.forNodes[1].name FieldValueInvalid",
        ],
    );
    check_endpoint(
        "T-VAL-38",
        nodes(&["a", "a"]),
        &["hints.forNodes[1].name FieldValueDuplicate"],
    );
    check_endpoint("T-VAL-39", nodes(&nine), &["hints.forNodes FieldValueTooMany"]);
}

#[test]
fn t_val_28_to_32_and_42_to_43_addresses() {
    let cases: [AddressCase<'_>; 9] = [
        ("28", "IPv4", &["123.456.789.012"], &[Some(0)]),
        ("29", "IPv4", &["012.034.056.078"], &[Some(0)]),
        (
            "30",
            "IPv4",
            &["123.456.789.012", "2001:4860:4860::8888"],
            &[Some(0), None],
        ),
        (
            "31",
            "IPv6",
            &["123.456.789.012", "2001:4860:4860:defg"],
            &[Some(0), Some(1)],
        ),
        (
            "32",
            "FQDN",
            &[
                "foo.*",
                "FOO.example.com",
                "underscores_are_bad.example.com",
                "*.example.com",
            ],
            &[Some(0), Some(1), Some(2), Some(3)],
        ),
        ("42", "IPv4", &["127.0.0.1"], &[Some(0)]),
        ("43", "IPv6", &["fe80::9656:d028:8652:66b6"], &[Some(0)]),
        (
            "R144 canonical",
            "IPv6",
            &["FD00::1", "::ffff:1.2.3.4"],
            &[Some(0), Some(1)],
        ),
        (
            "R144 special",
            "IPv4",
            &["0.0.0.0", "169.254.1.1", "224.0.0.5"],
            &[Some(0), Some(1), Some(2)],
        ),
    ];
    for (id, kind, addresses, rejected) in cases {
        let fields = json!({ "addressType": kind, "endpoints": [{ "addresses": addresses }] });
        let expected: Vec<_> = rejected
            .iter()
            .map(|index| index.map_or(String::new(), |i| format!("[{i}]")))
            .map(|index| format!("{ENDPOINT}.addresses{index} FieldValueInvalid"))
            .collect();
        assert_eq!(summary(&slice(&fields).validate()), expected, "T-VAL-{id}");
    }
    let empty = json!({ "addressType": "FQDN", "endpoints": [{ "addresses": [""] }] });
    check("R144", &empty, &["endpoints[0].addresses[0] FieldValueRequired"]);
}

#[test]
fn t_val_27_40_45_47_and_48_metadata_and_type() {
    let named = json!({ "metadata": { "name": "*&^" } });
    check("T-VAL-27", &named, &["metadata.name FieldValueInvalid"]);
    let nothing = json!({ "metadata": null, "addressType": "" });
    let expected = [
        "metadata.name FieldValueRequired",
        "metadata.namespace FieldValueRequired",
        "addressType FieldValueRequired",
    ];
    check("T-VAL-40", &nothing, &expected);
    assert_eq!(
        endpoints(&[json!({ "nodeName": "valid-node-name" })]).validate(),
        [],
        "T-VAL-45"
    );
    for (id, kind) in [("47", "IP"), ("48", "other")] {
        let fields = json!({ "addressType": kind, "endpoints": [{ "addresses": ["10.1.2.3"] }] });
        check(&format!("T-VAL-{id}"), &fields, &["addressType FieldValueNotSupported"]);
    }
}

#[test]
fn t_val_49_to_55_updates() {
    let http = json!({ "ports": [{ "name": "http" }], "endpoints": [{ "addresses": ["10.1.2.3"] }] });
    let legacy = json!({ "endpoints": [{ "addresses": ["10.1.2.04"] }] });
    let unknown = json!({ "addressType": "IP" });
    let node = json!({ "endpoints": [{ "addresses": ["10.1.2.3"], "nodeName": "INVALID_" }] });
    let cases: [(&str, &Value, Value, &[&str]); 7] = [
        ("49", &http, http.clone(), &[]),
        ("50", &legacy, legacy.clone(), &[]),
        ("51", &http, node, &["endpoints[0].nodeName FieldValueInvalid"]),
        ("52", &unknown, unknown.clone(), &["addressType FieldValueNotSupported"]),
        (
            "53",
            &http,
            json!({ "addressType": "IPv6" }),
            &["addressType FieldValueInvalid"],
        ),
        (
            "54",
            &http,
            json!({ "ports": [{ "protocol": "invalid" }] }),
            &["ports[0].protocol FieldValueNotSupported"],
        ),
        (
            "55",
            &http,
            json!({ "endpoints": [{ "addresses": ["10.1.2.03"] }] }),
            &["endpoints[0].addresses[0] FieldValueInvalid"],
        ),
    ];
    for (id, old, new, expected) in cases {
        assert_eq!(
            summary(&slice(&new).validate_update(&slice(old))),
            expected,
            "T-VAL-{id}"
        );
    }
}

/// The same limits in the declarative validation of the server (T-API-35…45).
#[test]
fn t_api_35_to_45_addresses_and_type() {
    let with_addresses = |count: usize| {
        let addresses: Vec<_> = (0..count).map(|i| format!("10.1.2.{i}")).collect();
        endpoints(&[json!({ "addresses": addresses })])
    };
    let old = with_addresses(1);
    let cases: [(usize, &[&str]); 4] = [
        (1, &[]),
        (100, &[]),
        (0, &["endpoints[0].addresses FieldValueRequired"]),
        (101, &["endpoints[0].addresses FieldValueTooMany"]),
    ];
    for (count, expected) in cases {
        let new = with_addresses(count);
        let found = (summary(&new.validate()), summary(&new.validate_update(&old)));
        assert_eq!(found, (summary_of(expected), summary_of(expected)), "{count} addresses");
    }
}

/// On update, the shared metadata validation runs in addition to the kind-specific one.
#[test]
fn update_repeats_metadata_errors() {
    let old = slice(&json!({}));
    let new = slice(&json!({ "metadata": { "labels": { "-a": "b" } } }));
    assert_eq!(summary(&new.validate()), ["metadata.labels FieldValueInvalid"]);
    assert_eq!(
        summary(&new.validate_update(&old)),
        ["metadata.labels FieldValueInvalid"; 3]
    );
}

fn check(id: &str, fields: &Value, expected: &[&str]) {
    assert_eq!(summary(&slice(fields).validate()), expected, "{id}");
}

fn summary_of(expected: &[&str]) -> Vec<String> {
    expected.iter().map(ToString::to_string).collect()
}

fn named(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({ "name": name })).collect()
}

fn topology(keys: usize) -> Value {
    (0..keys)
        .map(|i| (format!("key-{i}"), json!("value")))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
