//! Strategies for API objects: valid ones, and some that an API server would reject.

use k8s_openapi::api::core::v1 as api;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const ADDRESSES: [&str; 14] = [
    "",
    "10.0.0.1",
    "010.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
    "fd00::1",
    "FD00::1",
    "fd00::2",
    "::ffff:10.0.0.1",
    "::1",
    "0.0.0.0",
    "169.254.0.1",
    "fe80::1%x",
    "garbage",
];

fn parse<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// A string from a small set, so that objects share it, an arbitrary string, or null.
fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => select(vec!["", "a", "b", "web", "node-1"]).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        2 => Just(Value::Null),
    ]
}

fn list(item: impl Strategy<Value = Value>, max: usize) -> impl Strategy<Value = Value> {
    option::weighted(0.9, vec(item, 0..=max)).prop_map(Value::from)
}

fn protocol() -> impl Strategy<Value = Value> {
    select(vec![json!("TCP"), json!("UDP"), json!(""), json!("snmp"), Value::Null])
}

fn address() -> impl Strategy<Value = Value> {
    prop_oneof![9 => select(&ADDRESSES[..]).prop_map(Value::from), 1 => any::<String>().prop_map(Value::from)]
}

fn container() -> impl Strategy<Value = Value> {
    let number = prop_oneof![3 => 1..4, 1 => any::<i32>()];
    let port = (text(), number, protocol())
        .prop_map(|(name, number, protocol)| json!({"name": name, "containerPort": number, "protocol": protocol}));
    let restart = select(vec![json!("Always"), json!("Never"), Value::Null]);
    (restart, list(port, 3)).prop_map(|(restart, ports)| json!({"name": "c", "restartPolicy": restart, "ports": ports}))
}

/// A pod without a name.
fn pod() -> impl Strategy<Value = Value> {
    let spec = (vec(container(), 0..3), list(container(), 1), text(), text(), text()).prop_map(
        |(containers, init_containers, node, hostname, subdomain)| {
            json!({
                "containers": containers, "initContainers": init_containers,
                "nodeName": node, "hostname": hostname, "subdomain": subdomain,
            })
        },
    );
    let phase = select(vec![
        json!("Running"),
        json!("Pending"),
        json!("Failed"),
        json!("odd"),
        Value::Null,
    ]);
    let condition = (text(), select(vec!["True", "False", "x"]))
        .prop_map(|(kind, status)| json!({"type": kind.as_str().unwrap_or("Ready"), "status": status}));
    let status = (phase, address(), list(address().prop_map(|ip| json!({"ip": ip})), 4), list(condition, 2)).prop_map(
        |(phase, ip, ips, conditions)| json!({"phase": phase, "podIP": ip, "podIPs": ips, "conditions": conditions}),
    );
    let deleted = prop_oneof![4 => Just(Value::Null), 1 => Just(json!("2024-01-02T03:04:05Z"))];
    let parts = (
        text(),
        deleted,
        option::weighted(0.95, spec),
        option::weighted(0.95, status),
    );
    parts.prop_map(|(uid, deleted, spec, status)| {
        json!({"metadata": {"namespace": "ns", "uid": uid, "deletionTimestamp": deleted}, "spec": spec, "status": status})
    })
}

/// Pods of one namespace, with unique names.
pub(crate) fn pods() -> impl Strategy<Value = Vec<api::Pod>> {
    vec(pod(), 0..8).prop_map(|pods| {
        let named = pods.into_iter().enumerate().map(|(number, mut pod)| {
            pod["metadata"]["name"] = json!(format!("pod{number}"));
            parse(pod)
        });
        named.collect()
    })
}

pub(crate) fn service() -> impl Strategy<Value = api::Service> {
    let target = prop_oneof![text(), any::<i32>().prop_map(Value::from), (1..4).prop_map(Value::from)];
    let port = (text(), any::<i32>(), target, protocol(), text()).prop_map(
        |(name, port, target, protocol, app_protocol)| {
            json!({"name": name, "port": port, "targetPort": target, "protocol": protocol, "appProtocol": app_protocol})
        },
    );
    let family = select(vec!["IPv4", "IPv6", "IPv5"]).prop_map(Value::from);
    let cluster_ip = prop_oneof![3 => address(), 1 => Just(json!("None"))];
    let hints = select(vec![
        json!("PreferClose"),
        json!("PreferSameNode"),
        json!("odd"),
        Value::Null,
    ]);
    let mode = select(vec![
        json!({}),
        json!({"service.kubernetes.io/topology-mode": "Auto"}),
        Value::Null,
    ]);
    let spec = (cluster_ip, list(family, 3), any::<bool>(), list(port, 4), hints).prop_map(
        |(cluster_ip, families, publish, ports, hints)| {
            json!({
                "clusterIP": cluster_ip, "ipFamilies": families, "publishNotReadyAddresses": publish,
                "ports": ports, "trafficDistribution": hints,
            })
        },
    );
    (text(), mode, option::weighted(0.95, spec)).prop_map(|(name, annotations, spec)| {
        parse(json!({
            "metadata": {"namespace": "ns", "name": name, "uid": "1", "annotations": annotations}, "spec": spec,
        }))
    })
}

/// Nodes; pods may refer to others.
pub(crate) fn nodes() -> impl Strategy<Value = Vec<api::Node>> {
    let zone = select(vec![json!("zone-a"), json!("zone-b"), json!(""), Value::Null]);
    let node = |name: &'static str| {
        zone.clone().prop_map(move |zone| {
            let labels = json!({"topology.kubernetes.io/zone": zone.as_str().unwrap_or_default()});
            parse(json!({"metadata": {"name": name, "labels": labels}}))
        })
    };
    (node("node-1"), node("a"), node("b")).prop_map(|(first, second, third)| vec![first, second, third])
}
