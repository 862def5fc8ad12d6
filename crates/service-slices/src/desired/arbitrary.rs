//! Whatever the objects hold, an answer comes, and it holds together.

use std::collections::{BTreeSet, HashMap};

use fastrand::Rng;
use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};

use super::fixtures::{nodes, summary};
use crate::{Node, Service};

const TEXTS: [&str; 6] = ["", "a", "b", "foo", "\u{1f980}", "node-1"];
const ADDRESSES: [&str; 10] = [
    "",
    "10.0.0.1",
    "010.0.0.1",
    "10.0.0.2",
    "fd00::1",
    "FD00::1",
    "::ffff:10.0.0.1",
    "::1",
    "0.0.0.0",
    "fe80::1%x",
];
const PROTOCOLS: [&str; 4] = ["TCP", "UDP", "", "snmp"];

fn text(rng: &mut Rng) -> Value {
    match rng.choice(TEXTS) {
        Some("") | None => Value::Null,
        Some(text) => json!(text),
    }
}

fn list(rng: &mut Rng, mut item: impl FnMut(&mut Rng) -> Value) -> Value {
    match rng.usize(0..5) {
        0 => Value::Null,
        length => (1..length).map(|_| item(rng)).collect(),
    }
}

fn container(rng: &mut Rng) -> Value {
    let restart = rng.choice(["Always", "Never"]);
    let ports = list(
        rng,
        |rng| json!({"name": text(rng), "containerPort": rng.i32(-1..3), "protocol": rng.choice(PROTOCOLS)}),
    );
    json!({"name": "c", "restartPolicy": restart, "ports": ports})
}

fn pod(rng: &mut Rng, n: usize) -> api::Pod {
    let containers: Vec<Value> = (0..rng.usize(0..3)).map(|_| container(rng)).collect();
    let pod = json!({
        "metadata": {"namespace": text(rng), "name": format!("pod{n}"), "uid": text(rng)},
        "spec": {
            "containers": containers, "initContainers": list(rng, container),
            "nodeName": text(rng), "hostname": text(rng), "subdomain": text(rng),
        },
        "status": {
            "phase": rng.choice(["Running", "Pending", "Failed", "odd", ""]),
            "podIP": rng.choice(ADDRESSES),
            "podIPs": list(rng, |rng| json!({"ip": rng.choice(ADDRESSES)})),
            "conditions": list(rng, |rng| json!({"type": "Ready", "status": rng.choice(["True", "False", "x"])})),
        },
    });
    serde_json::from_value(pod).unwrap()
}

fn service(rng: &mut Rng) -> Service {
    let target = |rng: &mut Rng| {
        if rng.bool() {
            text(rng)
        } else {
            json!(rng.i32(i32::MIN..))
        }
    };
    let service = json!({
        "metadata": {"namespace": text(rng), "name": text(rng)},
        "spec": {
            "clusterIP": rng.choice(ADDRESSES),
            "ipFamilies": list(rng, |rng| json!(rng.choice(["IPv4", "IPv6", "IPv5"]))),
            "publishNotReadyAddresses": rng.bool(),
            "ports": list(rng, |rng| {
                json!({"name": text(rng), "port": rng.i32(..), "targetPort": target(rng), "protocol": rng.choice(PROTOCOLS)})
            }),
        },
    });
    Service::from(&serde_json::from_value::<api::Service>(service).unwrap())
}

fn holds_together(service: &Service, pods: &mut [api::Pod], nodes: &HashMap<&str, Node>, rng: &mut Rng) {
    let (groups, left_out) = summary(service, pods, nodes);
    let types: BTreeSet<&str> = service.families.address_types().iter().map(|t| t.as_str()).collect();
    for (address_type, _, endpoints) in &groups {
        assert!(types.contains(address_type));
        assert!(
            endpoints
                .iter()
                .all(|(_, addresses)| !addresses.is_empty() && addresses.is_sorted())
        );
        let is_v6 = |address: &String| address.contains(':');
        assert!(
            endpoints
                .iter()
                .all(|(_, addresses)| addresses.iter().all(|a| is_v6(a) == (*address_type == "IPv6")))
        );
    }
    assert!(groups.is_sorted_by_key(|(address_type, _, _)| address_type));
    rng.shuffle(pods);
    assert_eq!(
        summary(service, pods, nodes),
        (groups, left_out),
        "the order of pods does not matter"
    );
}

/// Bad input, and determinism: the order of the pods does not matter.
#[test]
fn arbitrary_objects_never_panic() {
    let mut rng = Rng::with_seed(4);
    for _ in 0..2000 {
        let service = service(&mut rng);
        let mut pods: Vec<api::Pod> = (0..rng.usize(0..8)).map(|n| pod(&mut rng, n)).collect();
        let nodes = nodes(&[("node-1", "zone"), ("a", "")]);
        holds_together(&service, &mut pods, &nodes, &mut rng);
    }
}
