//! From pods to endpoints.

use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::{Value, json};
use slice_core::{AddressType, Endpoint, EndpointSource as _, Target};

use super::fixtures::{conditions, desired_summary, group, nodes, pod, service, unready};
use crate::{Pod, desired};

const DELETED: &str = "2024-01-02T03:04:05Z";

fn merge(a: &Value, b: &Value) -> Value {
    let mut all = a.as_object().unwrap().clone();
    all.extend(b.as_object().unwrap().clone());
    Value::Object(all)
}

/// Upstream's cases, with all fields of the endpoint (T-UTL-07…16, T-P2E-01…10, R62, R63).
#[test]
fn t_utl_07_to_16_from_pod_to_endpoint() {
    let pnr = json!({"spec": {"publishNotReadyAddresses": true}});
    let deleted = json!({"metadata": {"deletionTimestamp": DELETED}});
    let dual = json!({"status": {"podIPs": [{"ip": "1.2.3.4"}, {"ip": "1234::5678:0000:0000:9abc:def0"}]}});
    let hostname = json!({"spec": {"hostname": "foo-host", "subdomain": "foo"}});
    let tff = conditions(true, true, false);
    for (id, service_change, pod_change, zone, expected) in [
        ("07, 14", json!({}), json!({}), "", ("1.2.3.5", tff, None)),
        ("08", pnr.clone(), json!({}), "", ("1.2.3.5", tff, None)),
        (
            "09",
            json!({}),
            unready(),
            "",
            ("1.2.3.5", conditions(false, false, false), None),
        ),
        (
            "10",
            pnr,
            unready(),
            "",
            ("1.2.3.5", conditions(true, false, false), None),
        ),
        ("11", json!({}), json!({}), "us-central1-a", ("1.2.3.5", tff, None)),
        ("12", json!({}), dual, "", ("1.2.3.4", tff, None)),
        ("13", json!({}), hostname, "", ("1.2.3.5", tff, Some("foo-host"))),
        (
            "15",
            json!({}),
            deleted.clone(),
            "",
            ("1.2.3.5", conditions(false, true, true), None),
        ),
        (
            "16",
            json!({}),
            merge(&deleted, &unready()),
            "",
            ("1.2.3.5", conditions(false, false, true), None),
        ),
    ] {
        let (address, conditions, hostname) = expected;
        let (service, nodes) = (service(service_change), nodes(&[("node-1", zone)]));
        let pods = [Pod::from(&pod(1, pod_change))];
        let mut desired = desired(&service, &pods, &nodes);
        let expected = Endpoint {
            addresses: [slice_core::Address::from_canonical(address)].into_iter().collect(),
            conditions,
            hostname: hostname.map(Into::into),
            node_name: Some("node-1".into()),
            zone: (!zone.is_empty()).then(|| zone.into()),
            target: Some(Target::from(&ObjectReference {
                kind: Some("Pod".into()),
                namespace: Some("test".into()),
                name: Some("pod1".into()),
                uid: Some("uid1".into()),
                ..ObjectReference::default()
            })),
            ..Endpoint::default()
        };
        let group = desired.groups.pop().unwrap();
        let [endpoint] = group.endpoints.into_sorted()[..] else {
            panic!("T-UTL-{id}")
        };
        assert_eq!(endpoint.to_endpoint(), expected, "T-UTL-{id}");
        assert!(
            endpoint.same_identity(&expected) && endpoint.equals_beyond_identity(&expected),
            "T-UTL-{id}"
        );
        assert!(desired.groups.is_empty() && desired.skipped.is_empty(), "T-UTL-{id}");
    }
}

#[test]
fn r59_truth_table() {
    for (pnr, ready, terminating, expected) in [
        (false, true, false, conditions(true, true, false)),
        (false, false, false, conditions(false, false, false)),
        (false, true, true, conditions(false, true, true)),
        (false, false, true, conditions(false, false, true)),
        (true, true, false, conditions(true, true, false)),
        (true, false, false, conditions(true, false, false)),
        (true, true, true, conditions(true, true, true)),
        (true, false, true, conditions(true, false, true)),
    ] {
        let service = service(json!({"spec": {"publishNotReadyAddresses": pnr}}));
        let pod = pod(0, json!({}));
        let pods = [Pod {
            ready,
            terminating,
            ..Pod::from(&pod)
        }];
        let nodes = nodes(&[("node-1", "")]);
        let group = desired(&service, &pods, &nodes).groups.pop().unwrap();
        let endpoints = group.endpoints.into_sorted();
        assert_eq!(endpoints[0].conditions(), expected, "{pnr} {ready} {terminating}");
    }
}

/// Without pods there are no groups (T-DER-01…03).
#[test]
fn t_der_01_to_03_no_pods_no_groups() {
    for (families, expected) in [
        (json!(["IPv4"]), &[AddressType::IPv4][..]),
        (json!(["IPv6"]), &[AddressType::IPv6]),
        (json!(["IPv6", "IPv4"]), &[AddressType::IPv4, AddressType::IPv6]),
    ] {
        let (service, nodes) = (service(json!({"spec": {"ipFamilies": families}})), nodes(&[]));
        let desired = desired(&service, &[] as &[Pod], &nodes);
        assert_eq!(desired.address_types, expected);
        assert!(desired.groups.is_empty() && desired.skipped.is_empty());
    }
}

/// An eligible pod creates its group, even if it is skipped or has no address of the type (T-DER-04…07, G40, G41).
#[test]
fn t_der_04_to_07_a_group_needs_a_pod_but_no_endpoint() {
    let (v4, v6) = (service(json!({})), service(json!({"spec": {"ipFamilies": ["IPv6"]}})));
    let (none, one) = (nodes(&[]), nodes(&[("node-1", "")]));
    let (ready, unready) = (pod(0, json!({})), pod(1, unready()));
    let (ip4, ip5): (&[&str], &[&str]) = (&["1.2.3.4"], &["1.2.3.5"]);
    let unknown = "pod test/pod0: skipped until its node \"node-1\" is known";
    for (id, service, pods, nodes, endpoints, skipped) in [
        ("04", &v4, vec![ready.clone()], &none, vec![], vec![unknown]),
        ("05", &v4, vec![ready.clone()], &one, vec![("pod0", ip4)], vec![]),
        (
            "06",
            &v4,
            vec![ready.clone(), unready],
            &one,
            vec![("pod0", ip4), ("pod1", ip5)],
            vec![],
        ),
        ("07", &v6, vec![ready.clone()], &one, vec![], vec![]),
    ] {
        let address_type = service.families.address_types()[0].as_str();
        let (groups, reported) = desired_summary(service, &pods, nodes);
        assert_eq!(groups, [group(address_type, &[80], &endpoints)], "T-DER-{id}");
        assert_eq!(reported, skipped, "T-DER-{id}");
    }
    let finished = pod(0, json!({"status": {"phase": "Failed"}}));
    assert_eq!(
        desired_summary(&v4, &[finished], &one),
        (vec![], vec![]),
        "a finished pod is not eligible and creates no group (R57)"
    );
}

/// A pod on an unknown node is skipped, and other pods are published: the part of T-PMN-01…06 that concerns desired endpoints
/// (R56, R65, W10).
#[test]
fn t_pmn_a_missing_node_skips_only_its_pods() {
    let pods = [pod(0, json!({"spec": {"nodeName": "node-0"}})), pod(1, json!({}))];
    let (ip4, ip5): (&[&str], &[&str]) = (&["1.2.3.4"], &["1.2.3.5"]);
    let both = vec![("pod0", ip4), ("pod1", ip5)];
    let unknown_node = |n: usize| format!("pod test/pod{n}: skipped until its node \"node-{n}\" is known");
    for (id, pnr, known, endpoints, skipped) in [
        (
            "01, 03",
            false,
            &[("node-0", "")][..],
            vec![("pod0", ip4)],
            vec![unknown_node(1)],
        ),
        ("02, 05", true, &[("node-0", "")], both.clone(), vec![]),
        ("04", true, &[], both, vec![]),
        ("06", false, &[], vec![], vec![unknown_node(0), unknown_node(1)]),
    ] {
        let service = service(json!({"spec": {"publishNotReadyAddresses": pnr}}));
        let (groups, reported) = desired_summary(&service, &pods, &nodes(known));
        assert_eq!(groups, [group("IPv4", &[80], &endpoints)], "T-PMN-{id}");
        assert_eq!(reported, skipped, "T-PMN-{id}");
    }
}

/// A pod without a node name is skipped; if it is published anyway, its endpoint has no node and no zone (R65).
#[test]
fn r65_a_pod_without_a_node() {
    let pods = [pod(0, json!({"spec": {"nodeName": ""}}))];
    let (_, skipped) = desired_summary(&service(json!({})), &pods, &nodes(&[("node-1", "z")]));
    assert_eq!(skipped, ["pod test/pod0: skipped until its node \"\" is known"]);
    let service = service(json!({"spec": {"publishNotReadyAddresses": true}}));
    let (pods, nodes) = ([Pod::from(&pods[0])], nodes(&[("node-1", "z")]));
    let group = desired(&service, &pods, &nodes).groups.pop().unwrap();
    let endpoints = group.endpoints.into_sorted();
    assert_eq!((endpoints[0].node_name(), endpoints[0].zone()), (None, None));
}

/// A pod is one endpoint per address type, and pods may share an address (R60, R77, R92).
#[test]
fn r60_one_endpoint_per_address_type() {
    let ips = |ips: &[&str]| {
        let ips: Vec<_> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        json!({"spec": {"nodeName": "node-1"}, "status": {"podIPs": ips}})
    };
    let pods = [
        pod(0, ips(&["fd00::1", "10.0.0.9", "10.0.0.10"])),
        pod(1, ips(&["10.0.0.9"])),
        pod(2, ips(&["fd00::1"])),
        pod(3, json!({"status": {"podIPs": null}})),
    ];
    let v4: [(&str, &[&str]); 2] = [("pod1", &["10.0.0.9"]), ("pod0", &["10.0.0.10", "10.0.0.9"])];
    let v6: [(&str, &[&str]); 2] = [("pod0", &["fd00::1"]), ("pod2", &["fd00::1"])];
    let service = service(json!({"spec": {"ipFamilies": ["IPv6", "IPv4"]}}));
    let (groups, skipped) = desired_summary(&service, &pods, &nodes(&[("node-1", "")]));
    assert_eq!(groups, [group("IPv4", &[80], &v4), group("IPv6", &[80], &v6)]);
    assert_eq!(skipped, [] as [String; 0]);
}

/// Invalid addresses are skipped and reported; the other addresses are published (G-25, R60, W23).
#[test]
fn g25_invalid_addresses_are_skipped_and_reported() {
    let ips = |ips: &[&str]| {
        let ips: Vec<_> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        json!({"status": {"podIPs": ips}})
    };
    let pods = [
        pod(2, ips(&["169.254.1.1", "::1", "fd00::1"])),
        pod(1, ips(&["::ffff:1.2.3.4", "garbage"])),
        pod(0, ips(&["010.0.0.1"])),
    ];
    let endpoints: [(&str, &[&str]); 2] = [("pod1", &["1.2.3.4"]), ("pod0", &["10.0.0.1"])];
    let (groups, skipped) = desired_summary(&service(json!({})), &pods, &nodes(&[("node-1", "")]));
    assert_eq!(groups, [group("IPv4", &[80], &endpoints)]);
    assert_eq!(
        skipped,
        [
            "pod test/pod1: address \"garbage\" skipped: it is not an IP address",
            "pod test/pod2: address \"169.254.1.1\" skipped: it is a link-local address",
        ],
        "an IPv6 address is not reported for a Service without IPv6"
    );
}
