//! Generates the objects of a cluster, deterministic for a given size.

use std::{net::Ipv6Addr, ops::RangeFrom};

use fastrand::Rng;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slice_core::well_known::ZONE_LABEL;
use slice_reconciler::hints::NodeInfo;

/// Pods per node of a busy cluster.
const PODS_PER_NODE: usize = 20;
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
const CPUS_PER_NODE: u64 = 8;

/// Generator of pods and nodes.
#[derive(Debug)]
pub(crate) struct Cluster {
    rng: Rng,
    nodes: usize,
    pod_numbers: RangeFrom<u32>,
}

impl Cluster {
    pub(crate) fn new(pods: usize) -> Self {
        Self {
            rng: Rng::with_seed(pods as u64),
            nodes: pods.div_ceil(PODS_PER_NODE).max(ZONES.len()),
            pod_numbers: 0..,
        }
    }

    pub(crate) fn nodes(&self) -> anyhow::Result<Vec<Node>> {
        let node = |number: usize| {
            decode(&json!({
                "metadata": {
                    "name": node_name(number),
                    "labels": {ZONE_LABEL: zone(number), "kubernetes.io/hostname": node_name(number)},
                },
                "status": {
                    "allocatable": {"cpu": CPUS_PER_NODE.to_string(), "memory": "32Gi", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }))
        };
        (0..self.nodes).map(node).collect()
    }

    /// The nodes as input of topology hints.
    pub(crate) fn node_infos(nodes: usize) -> impl Iterator<Item = NodeInfo<'static>> {
        (0..nodes).map(|number| NodeInfo {
            ready: true,
            excluded: false,
            zone: Some(zone(number)),
            cpu_milli: Some(CPUS_PER_NODE * 1000),
        })
    }

    /// Creates pods in random order.
    pub(crate) fn pods(&mut self, count: usize) -> anyhow::Result<Vec<Pod>> {
        let mut numbers: Vec<u32> = self.pod_numbers.by_ref().take(count).collect();
        self.rng.shuffle(&mut numbers);
        numbers.into_iter().map(|number| self.pod(number)).collect()
    }

    /// A ready pod.
    fn pod(&mut self, number: u32) -> anyhow::Result<Pod> {
        let [a, b, c, d] = (0x0a00_0100 + number).to_be_bytes();
        let ipv4 = format!("{a}.{b}.{c}.{d}");
        let ipv6 = Ipv6Addr::from_bits((0xfd00 << 112) | (u128::from(number) + 1));
        let suffix: String = (0..5).map(|_| self.rng.lowercase()).collect();
        let condition =
            |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
        decode(&json!({
            "metadata": {
                // The number makes the name unique.
                "namespace": "shop", "name": format!("web-6f7c8d9b5-{suffix}{number:x}"), "uid": self.uid(),
                "resourceVersion": "1",
                "labels": {"app": "web", "pod-template-hash": "6f7c8d9b5"},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6f7c8d9b5", "uid": "1", "controller": true},
                ],
            },
            "spec": {
                "nodeName": node_name(self.rng.usize(..self.nodes)),
                "serviceAccountName": "default",
                "restartPolicy": "Always",
                "containers": [{
                    "name": "web", "image": "example.com/shop/web:1.2.3",
                    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                }],
            },
            "status": {
                "phase": "Running", "hostIP": "192.168.0.1", "podIP": ipv4,
                "podIPs": [{"ip": ipv4}, {"ip": ipv6.to_string()}],
                "conditions": conditions,
            },
        }))
    }

    fn uid(&mut self) -> String {
        let uid = format!("{:032x}", self.rng.u128(..));
        [&uid[..8], &uid[8..12], &uid[12..16], &uid[16..20], &uid[20..]].join("-")
    }
}

/// Decodes an object from JSON text, as a client and the recorder do, so that the memory layout is comparable.
fn decode<T: DeserializeOwned>(object: &Value) -> anyhow::Result<T> {
    Ok(serde_json::from_str(&object.to_string())?)
}

fn node_name(number: usize) -> String {
    format!("node-{number}")
}

fn zone(node: usize) -> &'static str {
    ZONES[node % ZONES.len()]
}

/// The Service with the settings of a case.
pub(crate) fn service(
    ip_families: &Value,
    annotations: &Value,
    traffic_distribution: &Value,
) -> anyhow::Result<Service> {
    decode(&json!({
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "5f0c1b5e-0d4b-4a53-9a43-0e7c3e5d1a77",
            "labels": {"app": "web"}, "annotations": annotations,
        },
        "spec": {
            "clusterIP": "10.96.0.1", "ipFamilies": ip_families, "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
            "trafficDistribution": traffic_distribution,
        },
    }))
}
