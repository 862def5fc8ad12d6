//! Services, pods and nodes as JSON.

use serde_json::{Value, json};

pub(super) fn service(name: &str, selected_app: &str) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": name},
        "spec": {
            "clusterIP": "10.96.0.1",
            "ipFamilies": ["IPv4"],
            "selector": {"app": selected_app},
            "ports": [{"port": 80}],
        },
    })
}

pub(super) fn pod(name: &str, ip: u8, ready: bool) -> Value {
    let ready = if ready { "True" } else { "False" };
    json!({
        "metadata": {"namespace": "ns", "name": name, "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": []},
        "status": {"podIPs": [{"ip": format!("10.0.0.{ip}")}], "conditions": [{"type": "Ready", "status": ready}]},
    })
}

pub(super) fn node(name: &str, zone: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}})
}
