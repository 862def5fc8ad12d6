//! The generator's model of the cluster.

use serde_json::{Value, json};

/// A ready node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) zone: Option<&'static str>,
    pub(crate) cpu: u64,
}

impl Node {
    pub(crate) fn labels(&self) -> Value {
        json!({"topology.kubernetes.io/zone": self.zone})
    }

    pub(crate) fn status(&self) -> Value {
        let cpu = json!({"cpu": self.cpu.to_string()});
        json!({"conditions": [{"type": "Ready", "status": "True"}], "allocatable": cpu, "capacity": cpu})
    }

    pub(crate) fn object(&self, name: &str) -> Value {
        let labels = self.zone.map(|_| self.labels());
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": self.status()})
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Pod {
    pub(crate) app: Option<&'static str>,
    pub(crate) ready: bool,
    pub(crate) phase: &'static str,
    pub(crate) terminating: bool,
}

impl Pod {
    /// The status as a kubelet writes it.
    pub(crate) fn status(&self) -> Value {
        let ready = if self.ready { "True" } else { "False" };
        json!({"phase": self.phase, "conditions": [{"type": "Ready", "status": ready}]})
    }

    pub(crate) fn object(&self, name: &str, node: &str, ips: &[String], port: u16) -> Value {
        let mut status = self.status();
        status["podIP"] = json!(ips[0]);
        status["podIPs"] = ips.iter().map(|ip| json!({"ip": ip})).collect();
        let ports = json!([{"name": "http", "containerPort": port}]);
        json!({
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": self.app}},
            "spec": {
                "nodeName": node, "terminationGracePeriodSeconds": 3600,
                "containers": [{"name": "main", "image": "main", "ports": ports}],
            },
            "status": status,
        })
    }
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub(crate) struct Service {
    /// Immutable.
    pub(crate) headless: bool,
    pub(crate) selector: Option<&'static str>,
    /// Index of the port variant.
    pub(crate) ports: usize,
    pub(crate) dual_stack: bool,
    pub(crate) publish_not_ready: bool,
    pub(crate) traffic_distribution: Option<&'static str>,
    pub(crate) auto: bool,
    pub(crate) label: Option<u8>,
}

impl Service {
    /// Number of port variants; the last one is only for headless Services.
    pub(crate) fn port_variants(&self) -> usize {
        if self.headless { 6 } else { 5 }
    }

    /// The mutable fields; also valid as a merge patch.
    pub(crate) fn object(&self) -> Value {
        let port = |name: &str, target: Value| json!({"name": name, "port": 80, "targetPort": target});
        let ports = [
            json!([port("http", json!(8080))]),
            json!([port("http", json!("http"))]),
            json!([port("http", json!("http")), {"name": "dns", "port": 53, "protocol": "UDP"}]),
            json!([{"port": 80}]),
            json!([port("http", json!(9090))]),
            json!([]),
        ];
        let policy = if self.dual_stack {
            "RequireDualStack"
        } else {
            "SingleStack"
        };
        let mode = self.auto.then_some("Auto");
        let mut object = json!({
            "metadata": {
                "labels": {"team": self.label.map(|label| label.to_string())},
                "annotations": {"service.kubernetes.io/topology-mode": mode},
            },
            "spec": {
                "ports": ports[self.ports],
                "ipFamilyPolicy": policy,
                "publishNotReadyAddresses": self.publish_not_ready,
                "trafficDistribution": self.traffic_distribution,
                "selector": self.selector.map(|app| json!({"app": app})),
            },
        });
        if self.headless {
            object["spec"]["clusterIP"] = json!("None");
        }
        object
    }
}
