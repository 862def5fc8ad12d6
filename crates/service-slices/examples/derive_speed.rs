//! How long it takes to derive all endpoints of a Service, per pod.
//!
//! `cargo run --release -p service-slices --example derive_speed`

use std::{
    collections::HashMap,
    error::Error,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use foldhash::fast::RandomState;
use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, from_value, json};
use service_slices::{Node, Pod, Service, desired};

/// Pods per node, as on a busy cluster.
const PODS_PER_NODE: usize = 20;
const ZONES: usize = 3;
/// Long enough for a steady figure, short enough to wait for.
const TIME_PER_FIGURE: Duration = Duration::from_millis(300);

type Nodes<T = Arc<str>> = HashMap<T, Node<T>, RandomState>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("nanoseconds per pod: compact pods, and (last two columns) pods of the API, read anew each time");
    println!("      n      IPv4 dual-stack named port   API, IPv4  API, named");
    for n in [100, 1_000, 5_000, 50_000] {
        let node_count = n / PODS_PER_NODE;
        let pods = (0..n)
            .map(|n| pod(n, node_count))
            .collect::<Result<Vec<api::Pod>, _>>()?;
        let nodes = nodes(node_count)?;
        let compact = compact(&pods);
        let v4 = service(&json!(["IPv4"]), &json!(8080))?;
        let dual = service(&json!(["IPv4", "IPv6"]), &json!(8080))?;
        let named = service(&json!(["IPv4"]), &json!("http"))?;
        let from_compact = |service| per_pod(n, || drop(black_box(desired(service, &compact, &nodes))));
        let borrowed: Nodes<&str> = nodes
            .iter()
            .map(|(name, node)| (&**name, node.map(|text| &**text)))
            .collect();
        let from_api = |service| {
            per_pod(n, || {
                let pods: Vec<Pod<&str>> = pods.iter().map(|pod| Pod::for_service(pod, service)).collect();
                drop(black_box(desired(service, &pods, &borrowed)));
            })
        };
        println!(
            "{n:7} {:9} {:10} {:10} {:11} {:11}",
            from_compact(&v4),
            from_compact(&dual),
            from_compact(&named),
            from_api(&v4),
            from_api(&named)
        );
    }
    Ok(())
}

/// The best of many runs: everything else on the machine only ever adds.
fn per_pod(n: usize, mut run: impl FnMut()) -> u128 {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < TIME_PER_FIGURE {
        let run_start = Instant::now();
        run();
        best = best.min(run_start.elapsed());
    }
    best.as_nanos() / n as u128
}

fn pod(n: usize, node_count: usize) -> Result<api::Pod, serde_json::Error> {
    let [_, a, b, c] = u32::try_from(n).unwrap_or_default().to_be_bytes();
    // Neighbours in the list are not neighbours on a node.
    let node = n * 7919 % node_count;
    from_value(json!({
        "metadata": {"namespace": "shop", "name": format!("web-6f7c8d9b5-{n:05}"), "uid": format!("7a3d0c52-{n:08}")},
        "spec": {
            "nodeName": format!("node-{node}"),
            "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}],
        },
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": format!("10.{a}.{b}.{c}")}, {"ip": format!("fd00::{n:x}")}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }))
}

fn service(ip_families: &Value, target_port: &Value) -> Result<Service, serde_json::Error> {
    let service: api::Service = from_value(json!({
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"ipFamilies": ip_families, "ports": [{"name": "http", "port": 80, "targetPort": target_port}]},
    }))?;
    Ok(Service::from(&service))
}

fn nodes(count: usize) -> Result<Nodes, serde_json::Error> {
    let node = |n: usize| {
        let labels = json!({"topology.kubernetes.io/zone": format!("zone-{}", n % ZONES)});
        let node: api::Node = from_value(json!({"metadata": {"labels": labels}}))?;
        Ok((format!("node-{n}").into(), Node::from(&node)))
    };
    (0..count).map(node).collect()
}

/// As a controller keeps them: equal strings and equal ports are stored once.
fn compact(pods: &[api::Pod]) -> Vec<Pod> {
    let mut texts: HashMap<&str, Arc<str>> = HashMap::new();
    let mut compact: Vec<Pod> = Vec::with_capacity(pods.len());
    for pod in pods {
        let mut pod =
            Pod::<&str>::from(pod).map(|text| Arc::clone(texts.entry(text).or_insert_with(|| (*text).into())));
        if let Some(before) = compact.last().filter(|before| before.named_ports == pod.named_ports) {
            pod.named_ports.clone_from(&before.named_ports);
        }
        compact.push(pod);
    }
    compact
}
