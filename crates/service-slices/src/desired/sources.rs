//! Addresses and ports from elsewhere: what a controller of other networks, devices or selectors replaces, and nothing more.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};
use slice_core::EndpointSource as _;

use super::{
    desired,
    fixtures::{GroupSummary, group, nodes, pod, service, summarise, unready},
};
use crate::{Pod, PodAddresses, PodEndpoint, Service};

/// What is wanted for pods that were read in another way.
fn derived(service: &Service, pods: &[Pod]) -> (Vec<GroupSummary>, Vec<String>) {
    summarise(desired(service, pods, &nodes(&[("node-1", "")])))
}

/// A Multus-like source: the addresses of one network, from an annotation that lists what each network gave the pod (G75).
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

fn attached(n: usize, status: &Value) -> api::Pod {
    let annotation = json!({"k8s.v1.cni.cncf.io/network-status": status.to_string()});
    pod(n, json!({"metadata": {"annotations": annotation}}))
}

/// T-GX-13, G75–G77, G84: one endpoint per address, each in its family; what cannot be published is named; pods without the
/// network contribute nothing, and the addresses of other networks are of no interest.
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
    let (groups, said) = derived(&service, &pods);
    assert_eq!(groups, [group("IPv4", &[80], &v4), group("IPv6", &[80], &v6)]);
    assert_eq!(
        said,
        ["pod test/pod0: address \"fe80::1\" left out: it is a link-local address"]
    );
}

/// A ResourceClaim-like source (G80–G83): addresses and readiness of the devices of a pod's claim, or why there are none.
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

/// One entry per address, because each has its own readiness.
fn pods_of_devices(pods: &[api::Pod], claims: &BTreeMap<&str, Value>) -> (Vec<Pod>, Vec<String>) {
    let (mut made, mut problems) = (Vec::new(), Vec::new());
    for pod in pods {
        match device_addresses(pod, claims) {
            Ok(addresses) => made.extend(addresses.iter().map(|(ready, address)| {
                let read = Pod::from(pod);
                Pod {
                    addresses: PodAddresses::parse_separate([*address]),
                    ready: read.ready && *ready,
                    ..read
                }
            })),
            Err(problem) => problems.push(problem),
        }
    }
    (made, problems)
}

fn claiming(n: usize, claim: &str, change: &Value) -> api::Pod {
    let mut pod = pod(n, change.clone());
    let claims = json!([{"name": "net", "resourceClaimName": claim}]);
    pod.spec.as_mut().unwrap().resource_claims = serde_json::from_value(claims).unwrap();
    pod
}

/// T-GX-14, G80–G84: addresses come and go with the claim; a device says whether it is ready; a claim that several pods share
/// cannot be told apart and is reported.
#[test]
fn t_gx_14_addresses_of_devices() {
    let reserved =
        |uids: &[&str]| -> Value { uids.iter().map(|uid| json!({"resource": "pods", "uid": uid})).collect() };
    let device = |ips: &[&str], ready: &str| json!({"driver": "net.example.com", "conditions": [{"type": "Ready", "status": ready}], "networkData": {"ips": ips}});
    let pods = [
        claiming(0, "one", &json!({})),
        claiming(1, "shared", &json!({})),
        claiming(2, "late", &unready()),
        claiming(3, "another's", &json!({})),
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
        ("late", claim(&["uid2"], Value::Null)),
        (
            "another's",
            claim(&["uid9"], json!([device(&["192.0.2.9/24"], "True")])),
        ),
    ]);
    let service = service(json!({}));
    let ready_of = |made: &[Pod]| {
        let nodes = nodes(&[("node-1", "")]);
        let group = desired(&service, made, &nodes).groups.remove(0);
        let endpoints = group.endpoints.into_sorted();
        let word = |endpoint: &PodEndpoint<'_>| {
            (
                endpoint.addresses()[0].to_string(),
                endpoint.conditions().ready == Some(true),
            )
        };
        endpoints.iter().map(word).collect::<Vec<_>>()
    };
    let (made, problems) = pods_of_devices(&pods, &claims);
    let before = [("192.0.2.5", true), ("192.0.2.6", false)].map(|(ip, ready)| (ip.to_owned(), ready));
    assert_eq!(
        (ready_of(&made), problems),
        (before.to_vec(), vec!["claim shared is reserved for 2 pods".to_owned()])
    );

    claims.insert("late", claim(&["uid2"], json!([device(&["192.0.2.8/24"], "True")])));
    let (made, _) = pods_of_devices(&pods, &claims);
    let late = [("192.0.2.8".to_owned(), false)];
    assert_eq!(
        ready_of(&made),
        [&before[..], &late].concat(),
        "the pod itself is not ready"
    );
}

/// G62, G66: the ports of any object that selects pods; where numbers come from can be replaced too.
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
    let (groups, said) = derived(&selecting, &pods);
    assert_eq!(
        groups,
        [
            group("IPv4", &[53, 8080], &[("pod0", &["1.2.3.4"])]),
            group("IPv4", &[53, 9090], &[("pod1", &["1.2.3.5"])]),
        ]
    );
    assert_eq!(said, [] as [String; 0]);
    let without = service(json!({"spec": {"ports": null}}));
    let endpoints: [(&str, &[&str]); 2] = [("pod0", &["1.2.3.4"]), ("pod1", &["1.2.3.5"])];
    assert_eq!(derived(&without, &pods).0, [group("IPv4", &[], &endpoints)]);
}
