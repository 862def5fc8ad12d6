//! Arbitrary API slices, with values that an API server accepts and others.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

/// A common text, any text, or null.
fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => select(vec!["", "a", "b", "web"]).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        2 => Just(Value::Null),
    ]
}

fn list(item: impl Strategy<Value = Value>, max: usize) -> impl Strategy<Value = Value> {
    option::weighted(0.9, vec(item, 0..=max)).prop_map(Value::from)
}

fn flag() -> impl Strategy<Value = Value> {
    select(vec![json!(true), json!(false), Value::Null])
}

fn port() -> impl Strategy<Value = Value> {
    let number = prop_oneof![2 => Just(json!(80)), 1 => any::<i32>().prop_map(Value::from), 1 => Just(Value::Null)];
    (text(), number, text(), text()).prop_map(|(name, port, protocol, app_protocol)| {
        json!({"name": name, "port": port, "protocol": protocol, "appProtocol": app_protocol})
    })
}

fn endpoint() -> impl Strategy<Value = Value> {
    let addresses = [
        "10.0.0.1",
        "10.0.0.2",
        "010.0.0.2",
        "fd00::1",
        "FD00::1",
        "::ffff:10.0.0.1",
        "a.example.com",
        "",
    ];
    let address = prop_oneof![8 => select(addresses.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    let target = (text(), text(), text(), text()).prop_map(
        |(kind, namespace, name, uid)| json!({"kind": kind, "namespace": namespace, "name": name, "uid": uid}),
    );
    let named = || text().prop_map(|name| json!({"name": name.as_str().unwrap_or_default()}));
    let hints =
        (list(named(), 3), list(named(), 2)).prop_map(|(zones, nodes)| json!({"forZones": zones, "forNodes": nodes}));
    (
        vec(address, 0..3),
        option::of((flag(), flag(), flag())),
        option::of(target),
        option::of(hints),
        text(),
        text(),
        text(),
    )
        .prop_map(|(addresses, conditions, target, hints, hostname, node, zone)| {
            let conditions = conditions.map(
                |(ready, serving, terminating)| json!({"ready": ready, "serving": serving, "terminating": terminating}),
            );
            json!({
                "addresses": addresses, "conditions": conditions, "targetRef": target, "hints": hints,
                "hostname": hostname, "nodeName": node, "zone": zone,
            })
        })
}

pub(crate) fn slice() -> impl Strategy<Value = EndpointSlice> {
    let address_type =
        prop_oneof![8 => select(vec!["IPv4", "IPv6", "FQDN", "IP", ""]).prop_map(str::to_owned), 1 => any::<String>()];
    let owner = (text(), text(), select(vec!["uid-1", "uid-0", ""])).prop_map(|(api_version, kind, uid)| {
        let text = |text: &Value| text.as_str().map_or_else(|| "v1".to_owned(), str::to_owned);
        json!({"apiVersion": text(&api_version), "kind": text(&kind), "name": "web", "uid": uid})
    });
    let ours = Just(json!({"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "uid-1"}));
    let owners = list(prop_oneof![3 => ours, 1 => owner], 2);
    let label = (text(), text()).prop_map(|(key, value)| {
        let text = |text: &Value| text.as_str().unwrap_or_default().to_owned();
        (text(&key), Value::from(text(&value)))
    });
    let labels = option::of(vec(label, 0..3)).prop_map(|labels| labels.map(Value::from_iter));
    let deleted = prop_oneof![6 => Just(Value::Null), 1 => Just(json!("2024-01-02T03:04:05Z"))];
    (
        text(),
        address_type,
        list(port(), 3),
        list(endpoint(), 6),
        owners,
        labels,
        deleted,
    )
        .prop_map(|(name, address_type, ports, endpoints, owners, labels, deleted)| {
            let slice = json!({
                "metadata": {
                    "name": name, "labels": labels, "annotations": labels, "ownerReferences": owners,
                    "deletionTimestamp": deleted,
                },
                "addressType": address_type, "ports": ports, "endpoints": endpoints,
            });
            serde_json::from_value(slice).unwrap()
        })
}
