use serde_json::{Value, json};

use super::*;

fn pod(pod: Value) -> Pod {
    Pod::from(&serde_json::from_value::<api::Pod>(pod).unwrap())
}

/// Upstream's cases (T-CUT-07…10, -12…16, T-SPE-01…04, -06…10). Terminating pods are always included (T-CUT-17, T-SPE-11).
#[test]
fn r57_eligible_pods() {
    let ip = json!([{"ip": "1.2.3.4"}]);
    let both = json!([{"ip": "1.2.3.4"}, {"ip": "fd00::4"}]);
    for (phase, restart, pod_ip, pod_ips, expected) in [
        ("Failed", "Never", "1.2.3.4", ip.clone(), false),
        ("Succeeded", "Never", "1.2.3.4", ip.clone(), false),
        ("Succeeded", "OnFailure", "1.2.3.4", ip.clone(), false),
        ("Running", "Never", "", json!([]), false),
        ("Running", "Never", "", Value::Null, false),
        ("Failed", "Always", "1.2.3.4", ip.clone(), false),
        ("Pending", "Never", "1.2.3.4", ip.clone(), true),
        ("Unknown", "OnFailure", "1.2.3.4", ip.clone(), true),
        ("", "Never", "1.2.3.4", ip.clone(), true),
        ("Running", "Never", "1.2.3.4", ip.clone(), true),
        ("Running", "Never", "", both, true),
        ("Running", "Never", "1.2.3.4", Value::Null, true),
    ] {
        for deleted in [Value::Null, json!("2024-01-02T03:04:05Z")] {
            let pod = pod(json!({
                "metadata": {"deletionTimestamp": deleted},
                "spec": {"containers": [], "restartPolicy": restart},
                "status": {"phase": phase, "podIP": pod_ip, "podIPs": pod_ips},
            }));
            assert_eq!(pod.eligible, expected, "{phase} {restart} {pod_ip} {pod_ips} {deleted}");
            assert_eq!(pod.terminating, deleted != Value::Null);
        }
    }
    assert!(!pod(json!({})).eligible);
}

#[test]
fn r58_the_first_ready_condition_decides() {
    let condition = |kind, status| json!({"type": kind, "status": status});
    for (conditions, expected) in [
        (Value::Null, false),
        (json!([condition("Ready", "True")]), true),
        (json!([condition("Ready", "False")]), false),
        (json!([condition("Ready", "Unknown")]), false),
        (json!([condition("Initialized", "True")]), false),
        (
            json!([condition("Initialized", "False"), condition("Ready", "True")]),
            true,
        ),
        (json!([condition("Ready", "False"), condition("Ready", "True")]), false),
    ] {
        let status = json!({"conditions": conditions});
        assert_eq!(pod(json!({"status": status})).ready, expected, "{conditions}");
    }
}

/// Upstream's cases (T-CUT-18…21, T-HST-01…04, T-UTL-13, T-P2E-07).
#[test]
fn r64_published_hostname() {
    for (namespace, hostname, subdomain, expected) in [
        ("ns", "foo", "svc", Some("foo")),
        ("ns", "", "svc", None),
        ("ns", "foo", "other", None),
        ("ns", "foo", "", None),
        ("elsewhere", "foo", "svc", None),
    ] {
        let pod = pod(json!({
            "metadata": {"namespace": namespace},
            "spec": {"containers": [], "hostname": hostname, "subdomain": subdomain},
        }));
        let found = pod.hostname_for("ns", "svc");
        assert_eq!(found, expected, "{namespace} {hostname:?} {subdomain:?}");
    }
}

#[test]
fn for_service_converts_only_the_fields_that_the_service_uses() {
    let service = |families: Value, target: Value| {
        let spec = json!({"ipFamilies": families, "ports": [{"port": 80, "targetPort": target}]});
        Service::from(&serde_json::from_value::<api::Service>(json!({"spec": spec})).unwrap())
    };
    let pod: api::Pod = serde_json::from_value(json!({
        "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}]},
        "status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": "::ffff:10.0.0.2"}]},
    }))
    .unwrap();
    let both = json!(["IPv4", "IPv6"]);
    for (service, v4, v6, named_ports) in [
        (service(json!(["IPv4"]), json!(80)), 2, 0, 0),
        (service(both, json!("http")), 2, 1, 1),
    ] {
        let pod = Pod::for_service(&pod, &service, &mut Interner::default());
        let count = |address_type| pod.addresses.of(address_type).len();
        assert_eq!((count(AddressType::IPv4), count(AddressType::IPv6)), (v4, v6));
        assert_eq!(pod.named_ports().len(), named_ports);
    }
}

#[test]
fn pods_from_one_interner_share_strings() {
    let pod: api::Pod = serde_json::from_value(json!({
        "metadata": {"namespace": "ns", "name": "pod0", "uid": "u"},
        "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}], "nodeName": "n"},
        "status": {"podIPs": [{"ip": "10.0.0.1"}]},
    }))
    .unwrap();
    let mut interner = Interner::default();
    let [first, second] = [(); 2].map(|()| Pod::from_k8s(&pod, &mut interner));
    assert_eq!(first, Pod::from(&pod));
    assert!(Arc::ptr_eq(&first.identity, &second.identity));
    assert!(Arc::ptr_eq(first.node.as_ref().unwrap(), second.node.as_ref().unwrap()));
    let [port] = first.named_ports() else {
        panic!("one named port")
    };
    assert_eq!((&*port.name, &*port.protocol, port.port), ("http", "TCP", 80));
}
