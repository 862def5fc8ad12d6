//! Pods as JSON, and a topology cache.

use serde_json::{Value, json};
use slice_reconciler::hints::{NodeInfo, TopologyCache};

/// A ready pod on node-1.
pub(crate) fn pod(n: usize) -> Value {
    let ip = format!("10.0.{}.{}", n / 250, n % 250 + 1);
    json!({
        "metadata": {"namespace": "test", "name": format!("pod{n}"), "uid": format!("uid{n}"), "labels": {"foo": "bar"}},
        "spec": {"containers": [{"name": "c"}], "nodeName": "node-1"},
        "status": {"podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(crate) fn unready(mut pod: Value) -> Value {
    pod["status"]["conditions"][0]["status"] = json!("False");
    pod
}

pub(crate) fn on_node(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// A topology cache with zones a, b and c of equal size.
pub(crate) fn three_zones() -> TopologyCache<()> {
    let mut cache = TopologyCache::default();
    let zones = ["zone-a", "zone-b", "zone-c"].repeat(10);
    let nodes = zones.iter().map(|zone| NodeInfo {
        ready: true,
        excluded: false,
        zone: Some(zone),
        cpu_milli: Some(100),
    });
    assert_eq!(cache.set_nodes(nodes), []);
    cache
}
