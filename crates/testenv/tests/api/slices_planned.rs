//! The reconciler rejects exactly the slice content that a server rejects (F25, R143–R146).

use std::{collections::BTreeSet, net::Ipv4Addr, num::NonZeroUsize};

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};
use slice_core::{CompactSlice, EndpointSet, limits::ENDPOINTS_PER_SLICE_MAX};
use slice_reconciler::{
    Group, MetadataPolicy, Owner, OwnerReferenceOptions, Ownership, Packing, Partition, PlanOptions, PlanRequest,
    TriggerTime, label_value, plan,
};

use super::fixtures::{slice, slice_of};
use super::{Api, with};

/// Texts of all kinds: as names, labels, ports and addresses, most are valid in some fields only.
fn texts() -> Vec<String> {
    let long = [
        "a".repeat(63),
        "a".repeat(64),
        format!("{}.b", "a".repeat(64)),
        ["a"; 127].join("."),
        ["a"; 128].join("."),
    ];
    let short = [
        "",
        "a",
        "1",
        "a-1",
        "-a",
        "a-",
        "A",
        "a_b",
        "a.b",
        "a.b.",
        ".a",
        "a..b",
        "a b",
        "é",
        "a/b",
        "/a",
        "a/",
        "a/b/c",
        "A/b",
        "example.com/My_Name.1",
        "10.0.0.1",
        "010.0.0.1",
        "10.0.0",
        "256.1.1.1",
        "0.0.0.0",
        "127.1.1.1",
        "169.254.0.1",
        "224.0.0.7",
        "224.0.1.7",
        "::",
        "::1",
        "fd00::1",
        "FD00::1",
        "fd00:0::1",
        "fe80::1",
        "fe80::1%eth0",
        "ff02::1",
        "ff05::1",
        "::ffff:10.0.0.1",
        "localhost",
        "db.example.com",
        "db.example.com.",
        "TCP",
        "tcp",
        "SCTP",
        "QUIC",
    ];
    short.map(ToOwned::to_owned).into_iter().chain(long).collect()
}

/// Slices with one unusual field each.
fn odd_slices() -> Vec<Value> {
    let mut slices = Vec::new();
    for text in texts() {
        slices.extend(["IPv4", "IPv6", "FQDN"].map(|address_type| slice_of("odd", address_type, &[&text])));
        let fields = [
            "endpoints.0.hostname",
            "endpoints.0.nodeName",
            "ports.0.name",
            "ports.0.protocol",
            "ports.0.appProtocol",
            "metadata.labels.key",
        ];
        slices.extend(fields.map(|field| with(slice("odd"), field, json!(text))));
        slices.push(with(slice("odd"), "metadata.labels", json!({text: "value"})));
    }
    let numbered = |count: usize, item: fn(usize) -> Value| -> Value { (0..count).map(item).collect() };
    for count in [0, 1, 100, 101] {
        let addresses = numbered(count, |n| json!(format!("10.2.0.{}", n + 1)));
        slices.push(with(slice("odd"), "endpoints.0.addresses", addresses));
    }
    for count in [20_000, 20_001] {
        let ports = numbered(count, |n| json!({"name": format!("p{n}"), "port": n}));
        slices.push(with(slice("odd"), "ports", ports));
    }
    for (one, other) in [("a", "b"), ("a", "a"), ("", ""), ("", "a")] {
        let ports = json!([{"name": one, "port": 1}, {"name": other, "port": 2}]);
        slices.push(with(slice("odd"), "ports", ports));
    }
    slices
}

/// Whether the reconciler writes this slice unchanged.
fn is_planned(slice: &Value) -> bool {
    let slice: EndpointSlice = serde_json::from_value(slice.clone()).unwrap();
    let slice = CompactSlice::from(&slice);
    let address_type = slice.address_type.clone().unwrap();
    let mut endpoints = EndpointSet::default();
    endpoints.extend(&slice.endpoints);
    let metadata = MetadataPolicy {
        copied_labels: slice.metadata.labels.clone().unwrap_or_default(),
        ..MetadataPolicy::default()
    };
    let request = PlanRequest {
        owner: Owner {
            api_version: "example.com/v1",
            kind: "Pool",
            namespace: "ns",
            name: "pool",
            uid: "1",
            terminating: false,
        },
        partition: Partition::default(),
        address_types: BTreeSet::from([address_type]),
        desired: vec![Group {
            address_type,
            ports: slice.ports.clone(),
            endpoints,
        }],
        existing: &[],
        metadata: &metadata,
        hints: None,
        topology: None,
        trigger_time: TriggerTime::Unmanaged,
        name_prefix: "odd-",
        reserved_names: &[],
    };
    let options = PlanOptions {
        packing: Packing::Fill {
            max: NonZeroUsize::new(ENDPOINTS_PER_SLICE_MAX).unwrap(),
        },
        placeholder: false,
        ownership: Ownership::Enforce,
        owner_reference: OwnerReferenceOptions::default(),
    };
    plan(request, &options).unwrap().rejected.is_empty()
}

/// Servers accept an IPv4 address as an FQDN; the reconciler rejects it on purpose.
fn is_address_for_a_name(slice: &Value) -> bool {
    let address = slice["endpoints"][0]["addresses"][0].as_str().unwrap_or_default();
    slice["addressType"] == "FQDN" && address.parse::<Ipv4Addr>().is_ok()
}

#[tokio::test]
async fn f25_the_reconciler_rejects_what_the_server_rejects() {
    let api = Api::new().await;
    let path = format!("{}?dryRun=All", api.collection("endpointslices"));
    let mut differences = Vec::new();
    for slice in odd_slices() {
        let response = api.send(http::Method::POST, &path, &slice).await;
        let is_taken = response.code == 201 && !is_address_for_a_name(&slice);
        if is_taken != is_planned(&slice) {
            let short: String = slice.to_string().chars().take(300).collect();
            differences.push(format!("{} for {short}: {}", response.code, response.body["message"]));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Every valid owner name is a valid label value (G38).
#[tokio::test]
async fn g38_any_name_becomes_a_label() {
    let api = Api::new().await;
    let path = format!("{}?dryRun=All", api.collection("endpointslices"));
    for text in texts() {
        let labelled = with(slice("odd"), "metadata.labels.key", json!(label_value(&text)));
        let response = api.send(http::Method::POST, &path, &labelled).await;
        assert_eq!(response.code, 201, "{text:?}: {}", response.body["message"]);
    }
}
