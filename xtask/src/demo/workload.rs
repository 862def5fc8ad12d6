//! The objects that the demo shows: nodes in three zones, a service, and ready pods behind it.

use std::fmt::Debug;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "demo";

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
const PODS: usize = 6;

/// What a watch should show of a workload.
pub(super) struct Workload {
    pub(super) objects: usize,
    pub(super) changes: usize,
}

/// Creates everything.
pub(super) async fn create(client: &Client) -> anyhow::Result<Workload> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let nodes: Api<Node> = Api::all(client.clone());
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    post(&namespaces, json!({"metadata": {"name": NAMESPACE}})).await?;
    for zone in ZONES {
        post(&nodes, node(zone)).await?;
    }
    post(&services, service()).await?;
    for number in 0..PODS {
        post(&pods, pod(number)).await?;
        pods.patch_status(&pod_name(number), &PatchParams::default(), &Patch::Merge(ready(number)))
            .await
            .context("a pod could not be made ready")?;
    }
    let objects = ZONES.len() + 1 + PODS;
    Ok(Workload {
        objects,
        changes: objects + PODS,
    })
}

async fn post<K>(api: &Api<K>, object: Value) -> anyhow::Result<()>
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let object: K = serde_json::from_value(object).context("the demo's own object is malformed")?;
    api.create(&PostParams::default(), &object)
        .await
        .context("the demo's object was refused")?;
    Ok(())
}

fn node(zone: &str) -> Value {
    json!({"metadata": {"name": node_name(zone), "labels": {"topology.kubernetes.io/zone": zone}}})
}

fn node_name(zone: &str) -> String {
    zone.replace("zone", "node")
}

fn service() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
    })
}

fn pod_name(number: usize) -> String {
    format!("web-{number}")
}

fn pod(number: usize) -> Value {
    json!({
        "metadata": {"name": pod_name(number), "labels": {"app": "web"}},
        "spec": {
            "nodeName": node_name(ZONES[number % ZONES.len()]),
            "containers": [{"name": "web", "image": "web", "ports": [{"containerPort": 8080}]}],
        },
    })
}

fn ready(number: usize) -> Value {
    let address = format!("10.1.0.{}", number + 1);
    json!({"status": {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }})
}
