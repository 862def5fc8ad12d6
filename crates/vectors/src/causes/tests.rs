use serde_json::{Value, json};

use super::*;

/// A step of the mirroring controller with these subsets and slices.
fn mirroring(subsets: &Value, existing: &Value) -> Step {
    serde_json::from_value(json!({
        "change": "start",
        "endpoints": {"metadata": {"name": "ext", "uid": "1"}, "subsets": subsets},
        "existingSlices": existing,
        "expect": {"creates": [], "updates": [], "deletes": [], "events": []},
    }))
    .unwrap()
}

fn subset(ips: &[&str], port: u16) -> Value {
    let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
    json!({"addresses": addresses, "ports": [{"name": "p", "port": port, "protocol": "TCP"}]})
}

fn slice(address_type: &str, ips: &[&str], port: u16) -> Value {
    let endpoints: Vec<Value> = ips.iter().map(|ip| json!({"addresses": [ip]})).collect();
    json!({
        "metadata": {
            "name": format!("{address_type}-{port}"),
            "ownerReferences": [{"apiVersion": "v1", "kind": "Endpoints", "name": "ext", "uid": "1"}],
        },
        "addressType": address_type,
        "endpoints": endpoints,
        "ports": [{"name": "p", "port": port, "protocol": "TCP"}],
    })
}

#[test]
fn endpoints_are_exchanged_between_slices_of_one_type() {
    let existing = json!([slice("IPv4", &["10.0.0.1"], 80)]);
    let exchanges = |subsets: &Value| exchanges_endpoints(&mirroring(subsets, &existing));
    let moves = subset(&["10.0.0.1"], 81);
    assert!(!exchanges(&json!([moves])));
    assert!(!exchanges(&json!([moves, subset(&["fd00::1"], 80)])));
    assert!(!exchanges(&json!([moves, subset(&[], 80)])));
    assert!(exchanges(&json!([moves, subset(&["10.0.0.2"], 80)])));
    assert!(!exchanges(&json!([
        subset(&["10.0.0.1"], 80),
        subset(&["10.0.0.2"], 81)
    ])));
}

#[test]
fn annotations_of_a_mirrored_slice_are_not_foreign() {
    let mut mirror = slice("IPv4", &[], 80);
    mirror["metadata"]["annotations"] = json!({"note": "x"});
    let is_foreign = |mirror: &Value| has_foreign_metadata(&mirroring(&json!([]), &json!([mirror])));
    assert!(!is_foreign(&mirror));
    mirror["metadata"]["ownerReferences"][0]["kind"] = json!("ConfigMap");
    assert!(is_foreign(&mirror));
}

#[test]
fn existing_slices_may_contain_invalid_addresses() {
    let contains = |slice: Value| has_invalid_address(&mirroring(&json!([]), &json!([slice])));
    assert!(contains(slice("IPv4", &["10.0.0.1", "<nil>"], 80)));
    assert!(contains(slice("IPv4", &["127.0.0.1"], 80)));
    assert!(!contains(slice("IPv4", &["10.0.0.1"], 80)));
    assert!(!contains(slice("FQDN", &["a.example"], 80)));
}
