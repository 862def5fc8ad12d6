//! Fixtures: the objects that the acts create.

use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "demo";
// Labels of pods.
pub(super) const APP: &str = "app";
pub(super) const VERSION: &str = "version";
pub(super) const DUAL_STACK: &str = "dual-stack";

/// The fields of a Deployment that the acts vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deployment {
    pub(super) app: &'static str,
    pub(super) version: &'static str,
    pub(super) replicas: usize,
    /// Whether pods have an address of each IP family.
    pub(super) dual_stack: bool,
}

impl Deployment {
    /// The pod template.
    pub(super) fn template(&self) -> Value {
        let Self { app, version, .. } = self;
        json!({
            "metadata": {"labels": {APP: app, VERSION: version, DUAL_STACK: self.dual_stack.to_string()}},
            "spec": {
                "containers": [{
                    "name": app,
                    "image": format!("{app}:{version}"),
                    "ports": [{"name": "http", "containerPort": 8080}],
                }],
            },
        })
    }
}

/// A Service that selects the pods of a Deployment.
pub(super) fn service(app: &str) -> Value {
    json!({
        "metadata": {"name": app},
        "spec": {"selector": {APP: app}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    })
}

/// A dual-stack Service that selects the pods of a Deployment.
pub(super) fn dual_stack_service(app: &str) -> Value {
    let mut service = service(app);
    service["spec"]["ipFamilyPolicy"] = json!("RequireDualStack");
    service["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]);
    service
}

/// A Service without a selector; its Endpoints object is mirrored.
pub(super) fn selectorless_service(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"ports": [{"name": "sql", "port": 5432}]}})
}

/// The Endpoints object of a Service without a selector.
pub(super) fn endpoints(name: &str, ready: &[&str], not_ready: &[&str]) -> Value {
    let list = |addresses: &[&str]| addresses.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
    json!({
        "metadata": {"name": name},
        "subsets": [{
            "addresses": list(ready),
            "notReadyAddresses": list(not_ready),
            "ports": [{"name": "sql", "port": 5432}],
        }],
    })
}

/// A status patch that sets a condition of a pod or node.
pub(super) fn condition(type_: &str, status: &str) -> Value {
    json!({"status": {"conditions": [{"type": type_, "status": status}]}})
}
