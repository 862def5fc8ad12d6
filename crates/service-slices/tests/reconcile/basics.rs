//! Services with one pod or none.

use serde_json::{Value, json};
use service_slices::MANAGED_BY;
use slice_core::{
    AddressType, CompactSlice, Port, PortMapKey,
    well_known::{HEADLESS_LABEL, MANAGED_BY_LABEL, SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION},
};
use slice_reconciler::TriggerTime;

use crate::{
    fixtures::{on_node, pod, unready},
    harness::Harness,
};

/// The placeholder is created once (T-REC-01, T-REC-10, T-REC-11, T-GEN-01…03).
#[test]
fn a_service_without_pods_has_a_placeholder() {
    let mut harness = Harness::new();
    assert_eq!(harness.sync().metrics(), [1, 1, 0, 0, 0, 1, 0, 0, 1]);
    let [slice] = &harness.slices[..] else {
        panic!("{:?}", harness.slices)
    };
    assert!(slice.metadata.name.as_ref().unwrap().starts_with("foo-"));
    assert_eq!(slice.metadata.labels.as_ref().unwrap()[SERVICE_NAME_LABEL], "foo");
    assert!(slice.ports.ports().is_empty() && slice.endpoints.is_empty());
    assert_eq!(harness.sync().metrics(), [1, 1, 0, 0, 0, 0, 0, 0, 0]);
}

/// An empty slice with ports and a foreign label becomes the placeholder (T-REC-12, T-GEN-04).
#[test]
fn an_empty_slice_becomes_the_placeholder() {
    let mut harness = Harness::new();
    let existing = harness.store([]);
    existing.ports = PortMapKey::new([port("", 80)]);
    existing
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert("bar".into(), "baz".into());
    assert_eq!(harness.sync().metrics(), [1, 1, 0, 0, 0, 0, 1, 0, 1]);
    assert!(harness.slices[0].ports.ports().is_empty());
    assert_eq!(harness.slices[0].metadata.labels.as_ref().unwrap().get("bar"), None);
}

/// Comparison of an existing slice with the placeholder (T-REC-13…20, T-PHC-01…08). Cases with an absent side reduce to one:
/// without an existing slice, a placeholder is created.
#[test]
fn t_phc_placeholder_comparison() {
    type Change = fn(&mut CompactSlice);
    let cases: [(&str, Change, [usize; 3]); 6] = [
        ("T-PHC-04, T-REC-16: empty lists", |_| {}, [0, 0, 0]),
        (
            "T-PHC-05, T-REC-17: name",
            |slice| slice.metadata.name = Some("other".into()),
            [0, 0, 0],
        ),
        (
            "T-PHC-06, T-REC-18: labels",
            |slice| *slice.metadata.labels.as_mut().unwrap() = [("foo".into(), "true".into())].into(),
            [0, 1, 0],
        ),
        (
            "T-PHC-07, T-REC-19: creation time",
            |slice| slice.metadata.creation_timestamp = serde_json::from_str("\"2024-01-02T03:04:05Z\"").unwrap(),
            [0, 0, 0],
        ),
        (
            "T-PHC-08, T-REC-20: address type",
            |slice| slice.address_type = Ok(AddressType::IPv6),
            [1, 0, 1],
        ),
        (
            "ports",
            |slice| slice.ports = PortMapKey::new([port("", 80)]),
            [0, 1, 0],
        ),
    ];
    for (id, change, writes) in cases {
        let mut harness = Harness::new();
        change(harness.store([]));
        assert_eq!(harness.sync().writes(), writes, "{id}");
    }
    assert_eq!(Harness::new().sync().writes(), [1, 0, 0], "T-PHC-01…03, T-REC-13…15");
}

fn port(name: &str, number: i32) -> Port {
    Port {
        name: name.into(),
        protocol: "TCP".into(),
        port: Some(number),
        app_protocol: None,
    }
}

/// Labels, address types and all fields of the endpoint (T-REC-02…09, T-G1P-01…08, T-NEW-01…06, T-UTL-01…06, R110, R112). Metrics
/// count all address types of a dual-stack Service (W5, G47).
#[test]
fn one_pod_with_families_and_labels() {
    let reserved = json!({SERVICE_NAME_LABEL: "bad", MANAGED_BY_LABEL: "actor", HEADLESS_LABEL: "invalid"});
    let (v4, v6) = ("1.2.3.4", "1234::5678:0:0:9abc:def0");
    let headless = [(HEADLESS_LABEL, "")];
    let foo = ("foo", "bar");
    for (id, families, cluster_ip, labels, addresses, extra) in [
        (
            "02, G1P-01, NEW-01",
            json!(null),
            "10.0.0.10",
            json!({}),
            &[v4][..],
            &[][..],
        ),
        ("03, G1P-02", json!(["IPv4"]), "", json!({}), &[v4], &headless),
        ("04, G1P-03", json!(["IPv4"]), "1.1.1.1", json!({}), &[v4], &[]),
        (
            "05, G1P-04, NEW-03",
            json!(["IPv4"]),
            "",
            json!({"foo": "bar"}),
            &[v4],
            &[foo, headless[0]],
        ),
        ("06, G1P-05, NEW-05", json!(["IPv4"]), "", reserved, &[v4], &headless),
        ("07, G1P-06", json!(["IPv6"]), "", json!({}), &[v6], &headless),
        ("08, G1P-07", json!(["IPv6"]), "fd00::1", json!({}), &[v6], &[]),
        (
            "09, G1P-08",
            json!(["IPv4", "IPv6"]),
            "10.0.0.10",
            json!({}),
            &[v4, v6],
            &[],
        ),
        (
            "NEW-02",
            json!(["IPv4"]),
            "1.1.1.1",
            json!({"foo": "bar"}),
            &[v4],
            &[foo],
        ),
        (
            "NEW-04",
            json!(["IPv4"]),
            "1.1.1.1",
            json!({"foo": "bar", "foo2": "bar2"}),
            &[v4],
            &[foo, ("foo2", "bar2")],
        ),
    ] {
        let mut harness = Harness::with_pods(1..2);
        harness.pods[0]["status"]["podIPs"] = json!([{"ip": v4}, {"ip": "1234::5678:0000:0000:9abc:def0"}]);
        harness.pods[0]["spec"]["hostname"] = json!("example-hostname");
        harness.nodes = vec![("node-1".into(), "us-central1-a")];
        harness.service["spec"]["ipFamilies"] = families;
        harness.service["spec"]["clusterIP"] = json!(cluster_ip);
        harness.service["metadata"]["labels"] = labels;
        harness.service["metadata"]["annotations"] = json!({"foo": "bar"});
        harness.trigger_time = TriggerTime::Set("2024-01-02T03:04:05Z".into());
        let f = addresses.len();
        assert_eq!(harness.sync().metrics(), [f, f, f, f, 0, f, 0, 0, f], "T-REC-{id}");
        for (slice, address) in harness.slices.iter().zip(addresses) {
            let expected = expected_slice(slice, address, extra);
            assert_eq!(json!(slice.to_k8s()), expected, "T-REC-{id}");
        }
    }
}

/// The slice of pod1 as an API object.
fn expected_slice(slice: &CompactSlice, address: &str, extra_labels: &[(&str, &str)]) -> Value {
    let ours = [(SERVICE_NAME_LABEL, "foo"), (MANAGED_BY_LABEL, MANAGED_BY)];
    let labels = ours.iter().chain(extra_labels);
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": slice.metadata.name, "namespace": "test",
            "labels": labels.map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<Value>(),
            // Annotations of the Service are not copied (T-NEW-06).
            "annotations": {TRIGGER_TIME_ANNOTATION: "2024-01-02T03:04:05Z"},
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Service", "name": "foo", "uid": "uid-foo", "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "addressType": if address.contains(':') { "IPv6" } else { "IPv4" },
        "ports": [{"name": "", "protocol": "TCP", "port": 80}],
        "endpoints": [{
            "addresses": [address], "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": "node-1", "zone": "us-central1-a",
            "targetRef": {"kind": "Pod", "namespace": "test", "name": "pod1", "uid": "uid1"},
        }],
    })
}

/// With publishNotReadyAddresses, all endpoints are ready (T-REC-21, T-GEN-05).
#[test]
fn publish_not_ready_addresses_makes_all_endpoints_ready() {
    let mut harness = Harness::with_pods(0..50);
    for pod in harness.pods.iter_mut().step_by(3) {
        *pod = unready(pod.take());
    }
    harness.service["spec"]["publishNotReadyAddresses"] = json!(true);
    assert_eq!(harness.sync().metrics(), [1, 1, 50, 50, 0, 1, 0, 0, 1]);
    let endpoints = &harness.slices[0].endpoints;
    assert!(endpoints.iter().all(|endpoint| endpoint.conditions.ready == Some(true)));
}

/// Pods on unknown nodes (T-REC-48…53, T-PMN-01…06). Upstream also fails the sync; here the pods are reported and the sync
/// succeeds (W10).
#[test]
fn pods_on_unknown_nodes() {
    let pods = || [on_node(pod(0), "node-0"), on_node(pod(1), "node-1")];
    for (id, known, publish, has_slice, skipped, metrics) in [
        (
            "48, PMN-01",
            &["node-0"][..],
            false,
            false,
            1,
            [1, 1, 1, 1, 0, 1, 0, 0, 1],
        ),
        ("49, PMN-02", &["node-0"], true, false, 0, [1, 1, 2, 2, 0, 1, 0, 0, 1]),
        ("50, PMN-03", &["node-0"], false, true, 1, [1, 1, 1, 0, 1, 0, 1, 0, 1]),
        ("51, PMN-04", &[], true, true, 0, [1, 1, 2, 0, 0, 0, 0, 0, 0]),
        ("52, PMN-05", &["node-0"], true, true, 0, [1, 1, 2, 0, 0, 0, 0, 0, 0]),
        ("53, PMN-06", &[], false, true, 2, [1, 1, 0, 0, 2, 0, 1, 0, 1]),
    ] {
        let mut harness = Harness::new();
        harness.service["spec"]["publishNotReadyAddresses"] = json!(publish);
        if has_slice {
            harness.nodes = vec![("node-0".into(), ""), ("node-1".into(), "")];
            harness.store(pods());
        }
        harness.pods = pods().into();
        harness.nodes = known.iter().map(|name| ((*name).to_owned(), "")).collect();
        let synced = harness.sync();
        assert_eq!(synced.metrics(), metrics, "T-REC-{id}");
        assert_eq!(synced.skipped.len(), skipped, "T-REC-{id}");
        assert_eq!(harness.slices.len(), 1, "T-REC-{id}");
    }
}

/// The empty set of ports is a set like any other, whether the field is absent or empty (T-REC-64, T-GEN-26).
#[test]
fn headless_service_without_ports() {
    let mut harness = Harness::with_pods(0..1);
    harness.service["spec"]["ports"] = Value::Null;
    harness.service["spec"]["clusterIP"] = json!("None");
    assert_eq!(harness.sync().writes(), [1, 0, 0]);
    let mut stored = harness.slices[0].to_k8s();
    stored.ports = None;
    harness.slices = vec![(&stored).into()];
    assert_eq!(harness.sync().writes(), [0, 0, 0]);
}
