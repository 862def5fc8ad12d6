//! Addresses and ports from other sources: secondary networks, devices, and other objects with a selector.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use slice_core::EndpointSource as _;

use super::fixtures::{GroupSummary, group, nodes, pod, service, summarize, unready};
use crate::{Pod, PodAddresses, PodEndpoint, Service, desired};

/// Summary of the desired endpoints of pods on node-1.
fn summary_of(service: &Service, pods: &[Pod]) -> (Vec<GroupSummary>, Vec<String>) {
    summarize(desired(service, pods, &nodes(&[("node-1", "")])))
}

/// A Multus-like source: the addresses of one network, from the annotation with the networks of the pod (G75).
fn network_addresses(pod: &api::Pod, network: &str) -> PodAddresses {
    let annotations = pod.metadata.annotations.as_ref();
    let status = annotations.and_then(|annotations| annotations.get("k8s.v1.cni.cncf.io/network-status"));
    let status: Vec<Value> = status
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let attachments = status.iter().filter(|attachment| attachment["name"] == network);
    let ips = attachments.flat_map(|attachment| attachment["ips"].as_array().into_iter().flatten());
    PodAddresses::parse_separate(ips.filter_map(Value::as_str))
}

/// A pod with this network status.
fn attached(n: usize, status: &Value) -> api::Pod {
    let annotation = json!({"k8s.v1.cni.cncf.io/network-status": status.to_string()});
    pod(n, json!({"metadata": {"annotations": annotation}}))
}

/// One endpoint per address, by address type. Invalid addresses are reported, pods without the network have no endpoints, and
/// other networks are ignored (T-GX-13, G75–G77, G84).
#[test]
fn t_gx_13_addresses_of_another_network() {
    let network = "app-ns/macvlan-a";
    let default = json!({"name": "cbr0", "ips": ["10.244.1.7"], "default": true});
    let on = |ips: &[&str]| json!({"name": network, "interface": "net1", "ips": ips});
    let pods = [
        attached(0, &json!([default, on(&["192.0.2.10", "2001:DB8::10", "fe80::1"])])),
        attached(1, &json!([default, on(&["192.0.2.11"]), on(&["192.0.2.12"])])),
        attached(2, &json!([default])),
        attached(3, &json!("malformed")),
        pod(4, json!({})),
        attached(5, &json!([{"name": network}])),
    ];
    let pods: Vec<_> = pods
        .iter()
        .map(|pod| Pod {
            addresses: network_addresses(pod, network),
            ..Pod::from(pod)
        })
        .collect();
    let service = service(json!({"spec": {"ipFamilies": ["IPv4", "IPv6"]}}));
    let v4: [(&str, &[&str]); 3] = [
        ("pod0", &["192.0.2.10"]),
        ("pod1", &["192.0.2.11"]),
        ("pod1", &["192.0.2.12"]),
    ];
    let v6: [(&str, &[&str]); 1] = [("pod0", &["2001:db8::10"])];
    let (groups, skipped) = summary_of(&service, &pods);
    assert_eq!(groups, [group("IPv4", &[80], &v4), group("IPv6", &[80], &v6)]);
    assert_eq!(
        skipped,
        ["pod test/pod0: address \"fe80::1\" skipped: it is a link-local address"]
    );
}

/// A ResourceClaim-like source: addresses and readiness of the devices of a pod's claim, or an error (G80–G83).
fn device_addresses<'c>(pod: &api::Pod, claims: &'c BTreeMap<&str, Value>) -> Result<Vec<(bool, &'c str)>, String> {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let names = pod.spec.iter().flat_map(|spec| spec.resource_claims.iter().flatten());
    let mut addresses = Vec::new();
    for name in names.filter_map(|claim| claim.resource_claim_name.as_deref()) {
        let Some(status) = claims.get(name) else { continue };
        let consumers: Vec<_> = status["reservedFor"].as_array().into_iter().flatten().collect();
        if consumers.len() > 1 {
            return Err(format!("claim {name} is reserved for {} pods", consumers.len()));
        }
        if consumers.iter().all(|consumer| consumer["uid"] != uid) {
            continue;
        }
        for device in status["devices"].as_array().into_iter().flatten() {
            let conditions = device["conditions"].as_array().into_iter().flatten();
            let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
            let ready = ready.all(|condition| condition["status"] != "False");
            let ips = device["networkData"]["ips"].as_array().into_iter().flatten();
            let ips = ips.filter_map(|ip| ip.as_str()?.split('/').next());
            addresses.extend(ips.map(|ip| (ready, ip)));
        }
    }
    Ok(addresses)
}

/// One `Pod` per address, because each has its own readiness.
fn pods_of_devices(pods: &[api::Pod], claims: &BTreeMap<&str, Value>) -> (Vec<Pod>, Vec<String>) {
    let (mut converted, mut errors) = (Vec::new(), Vec::new());
    for pod in pods {
        match device_addresses(pod, claims) {
            Ok(addresses) => converted.extend(addresses.iter().map(|(ready, address)| {
                let converted = Pod::from(pod);
                Pod {
                    addresses: PodAddresses::parse_separate([*address]),
                    ready: converted.ready && *ready,
                    ..converted
                }
            })),
            Err(error) => errors.push(error),
        }
    }
    (converted, errors)
}

/// A pod with a resource claim.
fn claiming(n: usize, claim: &str, patch: &Value) -> api::Pod {
    let mut pod = pod(n, patch.clone());
    let claims = json!([{"name": "net", "resourceClaimName": claim}]);
    pod.spec.as_mut().unwrap().resource_claims = serde_json::from_value(claims).unwrap();
    pod
}

/// Addresses follow the claim and have the readiness of their device. A claim that several pods share is ambiguous and reported
/// (T-GX-14, G80–G84).
#[test]
fn t_gx_14_addresses_of_devices() {
    let reserved =
        |uids: &[&str]| -> Value { uids.iter().map(|uid| json!({"resource": "pods", "uid": uid})).collect() };
    let device = |ips: &[&str], ready: &str| json!({"driver": "net.example.com", "conditions": [{"type": "Ready", "status": ready}], "networkData": {"ips": ips}});
    let pods = [
        claiming(0, "one", &json!({})),
        claiming(1, "shared", &json!({})),
        claiming(2, "pending", &unready()),
        claiming(3, "foreign", &json!({})),
        claiming(4, "missing", &json!({})),
    ];
    let devices = json!([
        device(&["192.0.2.5/24", "2001:db8::5/64"], "True"),
        device(&["192.0.2.6/24"], "False")
    ]);
    let claim = |uids: &[&str], devices: Value| json!({"reservedFor": reserved(uids), "devices": devices});
    let mut claims = BTreeMap::from([
        ("one", claim(&["uid0"], devices)),
        (
            "shared",
            claim(&["uid1", "uid9"], json!([device(&["192.0.2.7/24"], "True")])),
        ),
        ("pending", claim(&["uid2"], Value::Null)),
        ("foreign", claim(&["uid9"], json!([device(&["192.0.2.9/24"], "True")]))),
    ]);
    let service = service(json!({}));
    let readiness = |pods: &[Pod]| {
        let nodes = nodes(&[("node-1", "")]);
        let group = desired(&service, pods, &nodes).groups.remove(0);
        let endpoints = group.endpoints.into_sorted();
        let describe = |endpoint: &PodEndpoint<'_>| {
            (
                endpoint.addresses()[0].to_string(),
                endpoint.conditions().ready == Some(true),
            )
        };
        endpoints.iter().map(describe).collect::<Vec<_>>()
    };
    let (converted, errors) = pods_of_devices(&pods, &claims);
    let before = [("192.0.2.5", true), ("192.0.2.6", false)].map(|(ip, ready)| (ip.to_owned(), ready));
    assert_eq!(
        (readiness(&converted), errors),
        (before.to_vec(), vec!["claim shared is reserved for 2 pods".to_owned()])
    );

    claims.insert("pending", claim(&["uid2"], json!([device(&["192.0.2.8/24"], "True")])));
    let (converted, _) = pods_of_devices(&pods, &claims);
    let pending = [("192.0.2.8".to_owned(), false)];
    assert_eq!(
        readiness(&converted),
        [&before[..], &pending].concat(),
        "the pod itself is not ready"
    );
}

/// Ports of another object that selects pods; the numbers of named ports can come from another source too (G62, G66).
#[test]
fn g66_ports_of_another_object() {
    let selector = json!({"ports": [{"name": "http", "targetPort": "web", "protocol": "TCP"}, {"name": "dns", "targetPort": 53, "protocol": "UDP"}]});
    let ports: Vec<Value> = selector["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| {
            let mut port = port.clone();
            port["port"] = json!(0);
            port
        })
        .collect();
    let selecting = service(json!({"spec": {"ports": ports}}));
    let api_pods = [pod(0, json!({})), pod(1, json!({}))];
    let numbers = [8080, 9090].map(|port| crate::NamedPort {
        name: "web".into(),
        protocol: "TCP".into(),
        port,
    });
    let pods: Vec<_> = api_pods
        .iter()
        .zip(&numbers)
        .map(|(pod, port)| Pod {
            named_ports: Some(Arc::new(vec![port.clone()])),
            ..Pod::from(pod)
        })
        .collect();
    let (groups, skipped) = summary_of(&selecting, &pods);
    assert_eq!(
        groups,
        [
            group("IPv4", &[53, 8080], &[("pod0", &["1.2.3.4"])]),
            group("IPv4", &[53, 9090], &[("pod1", &["1.2.3.5"])]),
        ]
    );
    assert_eq!(skipped, [] as [String; 0]);
    let without = service(json!({"spec": {"ports": null}}));
    let endpoints: [(&str, &[&str]); 2] = [("pod0", &["1.2.3.4"]), ("pod1", &["1.2.3.5"])];
    assert_eq!(summary_of(&without, &pods).0, [group("IPv4", &[], &endpoints)]);
}
