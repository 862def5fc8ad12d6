//! Validation of EndpointSlices (R143–R146).

use serde_json::{Value, json};

use super::fixtures::{slice, slice_of};
use super::{Api, differences, with};

/// Creates each slice and compares the causes of its rejection; none means that it is accepted.
async fn check(cases: Vec<(&str, Value, &[&str])>) {
    let differences = differences("endpointslices", cases).await;
    assert!(differences.is_empty(), "{differences:#?}");
}

fn port(name: &str, port: &Value) -> Value {
    with(slice(name), "ports.0", port.clone())
}

fn endpoint(name: &str, field: &str, value: Value) -> Value {
    with(slice(name), &format!("endpoints.0.{field}"), value)
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

fn numbered(count: usize, item: impl Fn(usize) -> Value) -> Value {
    (0..count).map(item).collect()
}

fn address(index: usize) -> String {
    format!("10.2.{}.{}", index / 250, index % 250 + 1)
}

#[tokio::test]
async fn t_val_01_to_07_ordinary_slices_are_taken() {
    let protocols = named(&["", "a", "b"]);
    let protocols = with(protocols, "0.protocol", json!("TCP"));
    let protocols = with(protocols, "1.protocol", json!("UDP"));
    let protocols = with(protocols, "2.protocol", json!("SCTP"));
    let names = ["example.com", "example.com.", "hello-world.example.com"];
    let app = ["HTTP", "https", "my-protocol", "example.com/custom-protocol"];
    let app = numbered(4, |i| json!({"name": format!("p{i}"), "appProtocol": app[i]}));
    check(vec![
        (
            "01 IPv4 with hostname",
            endpoint("v01", "hostname", json!("valid-123")),
            &[],
        ),
        ("02 IPv6", slice_of("v02", "IPv6", &["a00:100::4"]), &[]),
        ("03 FQDN", slice_of("v03", "FQDN", &names), &[]),
        ("04 protocols", with(slice("v04"), "ports", protocols), &[]),
        ("05 appProtocols", with(slice("v05"), "ports", app), &[]),
        ("06 names", with(slice("v06"), "ports", named(&["", "http"])), &[]),
        ("07 63 characters", port("v07", &json!({"name": "a".repeat(63)})), &[]),
    ])
    .await;
}

#[tokio::test]
async fn t_val_08_to_13_slices_at_the_limits_are_taken() {
    let empty = with(slice("v08"), "ports", json!([]));
    let endpoints = numbered(1000, |i| json!({"addresses": [address(i)]}));
    let ports = numbered(20_000, |i| json!({"name": format!("port-{i}"), "port": i}));
    let addresses = numbered(100, |i| json!(address(i)));
    let hints = json!({"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "node-1"}]});
    let topology: Value = (0..16).map(|i| (format!("key-{i}"), json!("value"))).collect();
    check(vec![
        ("08 empty lists", with(empty, "endpoints", json!([])), &[]),
        ("09 1000 endpoints", with(slice("v09"), "endpoints", endpoints), &[]),
        ("10 20000 ports", with(slice("v10"), "ports", ports), &[]),
        ("11 100 addresses", endpoint("v11", "addresses", addresses), &[]),
        (
            "12 16 topology keys",
            endpoint("v12", "deprecatedTopology", topology),
            &[],
        ),
        ("13 hints", endpoint("v13", "hints", hints), &[]),
    ])
    .await;
}

#[tokio::test]
async fn t_val_15_to_20_and_33_ports() {
    let ports = numbered(20_001, |i| json!({"name": format!("port-{i}")}));
    let name = |name: &str| port("v-port", &json!({ "name": name }));
    check(vec![
        (
            "15",
            with(slice("v15"), "ports", named(&["", ""])),
            &["FieldValueDuplicate ports[1].name"],
        ),
        (
            "15 by default",
            with(slice("v15"), "ports", json!([{}, {}])),
            &["FieldValueDuplicate ports[1].name"],
        ),
        ("16", name("aCapital"), &["FieldValueInvalid ports[0].name"]),
        ("17", name("almost_valid"), &["FieldValueInvalid ports[0].name"]),
        ("18", name(&"a".repeat(64)), &["FieldValueInvalid ports[0].name"]),
        (
            "19",
            port("v19", &json!({"protocol": "foo"})),
            &["FieldValueNotSupported ports[0].protocol"],
        ),
        (
            "19 lower case",
            port("v19", &json!({"protocol": "tcp"})),
            &["FieldValueNotSupported ports[0].protocol"],
        ),
        ("20", with(slice("v20"), "ports", ports), &["FieldValueTooMany ports"]),
        (
            "33",
            port("v33", &json!({"appProtocol": "--"})),
            &["FieldValueInvalid ports[0].appProtocol"],
        ),
        ("R145 port out of range", port("v-r145", &json!({"port": 70_000})), &[]),
        ("R145 no port", port("v-r145-none", &json!({"name": "any"})), &[]),
    ])
    .await;
}

#[tokio::test]
async fn t_val_21_to_23_26_27_45_and_46_endpoints_and_names() {
    let endpoints = numbered(1001, |i| json!({"addresses": [address(i)]}));
    let addresses = numbered(101, |i| json!(address(i)));
    check(vec![
        (
            "21",
            with(slice("v21"), "endpoints", endpoints),
            &["FieldValueTooMany endpoints"],
        ),
        (
            "22",
            slice_of("v22", "IPv4", &[]),
            &["FieldValueRequired endpoints[0].addresses"],
        ),
        (
            "23",
            endpoint("v23", "addresses", addresses),
            &["FieldValueTooMany endpoints[0].addresses"],
        ),
        (
            "26",
            endpoint("v26", "hostname", json!("--INVALID")),
            &["FieldValueInvalid endpoints[0].hostname"],
        ),
        (
            "26 dots",
            endpoint("v26", "hostname", json!("a.b")),
            &["FieldValueInvalid endpoints[0].hostname"],
        ),
        ("27", slice("*&^"), &["FieldValueInvalid metadata.name"]),
        ("45", endpoint("v45", "nodeName", json!("valid-node-name")), &[]),
        (
            "46",
            endpoint("v46", "nodeName", json!("INvalid-node-name")),
            &["FieldValueInvalid endpoints[0].nodeName"],
        ),
        (
            "46 empty",
            endpoint("v46", "nodeName", json!("")),
            &["FieldValueInvalid endpoints[0].nodeName"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn t_val_28_to_32_42_and_43_addresses() {
    let first = "FieldValueInvalid endpoints[0].addresses[0]";
    let whole = "FieldValueInvalid endpoints[0].addresses";
    let second = "FieldValueInvalid endpoints[0].addresses[1]";
    let v4 = |addresses: &[&str]| slice_of("v-v4", "IPv4", addresses);
    let v6 = |addresses: &[&str]| slice_of("v-v6", "IPv6", addresses);
    let names = [
        "foo.*",
        "FOO.example.com",
        "underscores_are_bad.example.com",
        "*.example.com",
    ];
    let all: Vec<String> = (0..4)
        .map(|i| format!("FieldValueInvalid endpoints[0].addresses[{i}]"))
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    check(vec![
        ("28", v4(&["123.456.789.012"]), &[first]),
        ("29 strict", v4(&["012.034.056.078"]), &[first]),
        ("30", v4(&["123.456.789.012", "2001:4860:4860::8888"]), &[whole, first]),
        ("31", v6(&["123.456.789.012", "2001:4860:4860:defg"]), &[first, second]),
        ("32", slice_of("v32", "FQDN", &names), &all),
        ("32 one label", slice_of("v32", "FQDN", &["localhost"]), &[first]),
        ("42", v4(&["127.0.0.1"]), &[first]),
        ("43", v6(&["fe80::9656:d028:8652:66b6"]), &[first]),
        ("R144 unspecified", v4(&["0.0.0.0"]), &[first]),
        ("R144 link-local", v4(&["169.254.1.1"]), &[first]),
        ("R144 link-local multicast", v4(&["224.0.0.9"]), &[first]),
        ("R144 loopback", v6(&["::1"]), &[first]),
        ("R144 unspecified", v6(&["::"]), &[first]),
        ("R144 link-local multicast", v6(&["ff02::1"]), &[first]),
        ("G9 not canonical", v6(&["1234::5678:0000:0000:9abc:def0"]), &[first]),
        ("F25 zone of an IPv6 address", v6(&["fd00::1%eth0"]), &[first]),
        ("not an address", v4(&[""]), &[first]),
    ])
    .await;
}

/// Limits and names of hints (H5).
#[tokio::test]
async fn t_val_34_to_39_hints() {
    let zones = |names: &[&str]| endpoint("v-zones", "hints", json!({"forZones": named(names)}));
    let nodes = |names: &[&str]| endpoint("v-nodes", "hints", json!({"forNodes": named(names)}));
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let zone = "FieldValueInvalid endpoints[0].hints.forZones[0].name";
    let node = "FieldValueInvalid endpoints[0].hints.forNodes[0].name";
    let second = "FieldValueInvalid endpoints[0].hints.forNodes[1].name";
    let twice = "FieldValueDuplicate endpoints[0].hints";
    check(vec![
        ("34", zones(&["inv@lid"]), &[zone]),
        ("35", zones(&["a", "a"]), &[&format!("{twice}.forZones[1].name")]),
        ("36", zones(&nine), &["FieldValueTooMany endpoints[0].hints.forZones"]),
        ("37", nodes(&["!@#$!@", ""]), &[node, second]),
        ("38", nodes(&["a", "a"]), &[&format!("{twice}.forNodes[1].name")]),
        ("39", nodes(&nine), &["FieldValueTooMany endpoints[0].hints.forNodes"]),
        ("R146 an empty zone is a label value", zones(&[""]), &[]),
    ])
    .await;
}

#[tokio::test]
async fn t_val_40_44_47_and_48_whole_objects() {
    let empty = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"});
    let name = "FieldValueRequired metadata.name";
    check(vec![
        ("40", empty, &["FieldValueRequired addressType", name]),
        ("44", slice("v44"), &[]),
        (
            "47",
            slice_of("v47", "IP", &["1.2.3.4"]),
            &["FieldValueNotSupported addressType"],
        ),
        (
            "48",
            slice_of("v48", "other", &["1.2.3.4"]),
            &["FieldValueNotSupported addressType"],
        ),
        (
            "bad label",
            with(slice("v-label"), "metadata.labels", json!({"a": "b c"})),
            &["FieldValueInvalid metadata.labels"],
        ),
        (
            "owner without uid",
            with(
                slice("v-owner"),
                "metadata.ownerReferences",
                json!([{"apiVersion": "v1", "kind": "Service", "name": "a", "uid": ""}]),
            ),
            &["FieldValueInvalid metadata.ownerReferences.uid"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn t_val_49_and_51_to_55_updates() {
    let api = Api::new().await;
    let stored = api.create("endpointslices", &slice("a")).await.ok();
    let update = |path: &str, value: Value| with(stored.clone(), path, value);
    // 53: the endpoints do not match the new type, but unchanged endpoints are not validated again (R144).
    let cases: [(&str, Value, &[&str]); 7] = [
        ("49", stored.clone(), &[]),
        (
            "51",
            update("endpoints.0.nodeName", json!("INVALID-node-name")),
            &["FieldValueInvalid endpoints[0].nodeName"],
        ),
        (
            "52",
            update("addressType", json!("IP")),
            &["FieldValueInvalid addressType", "FieldValueNotSupported addressType"],
        ),
        (
            "53",
            update("addressType", json!("IPv6")),
            &["FieldValueInvalid addressType"],
        ),
        (
            "54",
            update("ports.0.protocol", json!("foo")),
            &["FieldValueNotSupported ports[0].protocol"],
        ),
        (
            "55",
            update("endpoints.0.addresses.0", json!("10.1.2.03")),
            &["FieldValueInvalid endpoints[0].addresses[0]"],
        ),
        (
            "label",
            update("metadata.labels", json!({"a": "b c"})),
            &["FieldValueInvalid metadata.labels"],
        ),
    ];
    for (case, slice, causes) in cases {
        let response = api.update("endpointslices", &slice).await;
        assert_eq!(response.causes(), causes, "{case}: {response:?}");
    }
}

#[tokio::test]
async fn an_invalid_slice_is_rejected_with_all_causes() {
    let api = Api::new().await;
    let bad = endpoint("bad", "hostname", json!("--"));
    let response = api.create("endpointslices", &bad).await;
    response.assert_rejected(
        "422 Invalid discovery.k8s.io/EndpointSlice \"bad\"",
        "EndpointSlice.discovery.k8s.io \"bad\" is invalid: endpoints[0].hostname: Invalid value: \"--\": ",
    );
    let bad = with(bad, "ports.0.protocol", json!("foo"));
    let response = api.create("endpointslices", &bad).await;
    response.assert_rejected(
        "422 Invalid discovery.k8s.io/EndpointSlice \"bad\"",
        "EndpointSlice.discovery.k8s.io \"bad\" is invalid: [",
    );
}
