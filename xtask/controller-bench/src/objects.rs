//! Input objects, and requests for many of them at a time.

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use testenv::objects::{api, create};

/// Requests in flight while objects are created, changed or deleted.
const CONCURRENCY: usize = 32;
const NODES: usize = 50;
const ZONES: usize = 3;

/// Pods of each Service of [`create_pods`].
pub(crate) const PODS_PER_SERVICE: usize = 50;

/// The names of the namespaces with the objects of a benchmark.
const NAMESPACES: [&str; 4] = ["bench-a", "bench-b", "bench-c", "bench-d"];

/// The namespace of a Service and its pods.
pub(crate) fn namespace(service: usize) -> &'static str {
    NAMESPACES[service % NAMESPACES.len()]
}

/// The namespaces and nodes.
pub(crate) fn cluster() -> impl Iterator<Item = Value> {
    let namespaces = NAMESPACES
        .iter()
        .map(|name| json!({"kind": "Namespace", "metadata": {"name": name}}));
    namespaces.chain((0..NODES).map(node))
}

fn node(number: usize) -> Value {
    let zone = format!("zone-{}", number % ZONES);
    json!({
        "kind": "Node",
        "metadata": {"name": node_name(number), "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "16"}},
    })
}

fn node_name(number: usize) -> String {
    format!("node-{}", number % NODES)
}

pub(crate) fn service_name(number: usize) -> String {
    format!("service-{number}")
}

/// A Service that selects its [`pod`]s.
pub(crate) fn service(number: usize) -> Value {
    let name = service_name(number);
    json!({
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace(number), "labels": {"app": name}},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    })
}

/// A Service without a selector, and its Endpoints with one address.
pub(crate) fn mirrored_service(number: usize) -> [Value; 2] {
    let metadata = json!({"name": mirrored_name(number), "namespace": namespace(number)});
    let ports = json!([{"name": "http", "port": 80}]);
    [
        json!({"kind": "Service", "metadata": metadata, "spec": {"ports": ports}}),
        json!({"kind": "Endpoints", "metadata": metadata, "subsets": subsets(1)}),
    ]
}

pub(crate) fn mirrored_name(number: usize) -> String {
    format!("mirrored-{number}")
}

/// Subsets of Endpoints with this many addresses.
pub(crate) fn subsets(addresses: usize) -> Value {
    let addresses: Vec<Value> = (1..=addresses)
        .map(|last| json!({"ip": format!("192.168.0.{last}")}))
        .collect();
    json!([{"addresses": addresses, "ports": [{"name": "http", "port": 8080}]}])
}

/// The name of a pod of a Service.
pub(crate) fn pod_name(service: usize, replica: usize) -> String {
    format!("{}-{replica}", service_name(service))
}

/// A ready pod of a Service, of the size that pods of a Deployment usually have. `replica` is below 256.
pub(crate) fn pod(service: usize, replica: usize) -> Value {
    let app = service_name(service);
    let address = format!("10.{}.{}.{replica}", service / 256, service % 256);
    let environment: Vec<Value> = (0..12)
        .map(|number| json!({"name": format!("SETTING_{number}"), "value": format!("value-{number}-of-{app}")}))
        .collect();
    let container = |name: &str, port: u16| {
        json!({
            "name": name,
            "image": format!("registry.invalid/team/{name}:v1.2.3"),
            "ports": [{"name": if name == "main" { "http" } else { "metrics" }, "containerPort": port}],
            "env": environment,
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "livenessProbe": {"httpGet": {"path": "/livez", "port": port}, "periodSeconds": 10},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": port}, "periodSeconds": 5},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config"}, {"name": "data", "mountPath": "/data"}],
        })
    };
    let status = |name: &str| {
        json!({
            "name": name,
            "image": format!("registry.invalid/team/{name}:v1.2.3"),
            "imageID": format!("registry.invalid/team/{name}@sha256:{:064x}", service),
            "containerID": format!("containerd://{:064x}", service * 256 + replica),
            "ready": true,
            "started": true,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
        })
    };
    let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"});
    json!({
        "kind": "Pod",
        "metadata": {
            "name": pod_name(service, replica),
            "namespace": namespace(service),
            "labels": {"app": app, "pod-template-hash": "7d4b9c6f5", "team": "bench"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": format!("{service:064x}")},
        },
        "spec": {
            "nodeName": node_name(service + replica),
            "terminationGracePeriodSeconds": 0,
            "containers": [container("main", 8080), container("sidecar", 9090)],
            "volumes": [{"name": "config", "configMap": {"name": app}}, {"name": "data", "emptyDir": {}}],
        },
        "status": {
            "phase": "Running",
            "hostIP": "172.16.0.1",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": "2024-01-01T00:00:00Z",
            "conditions": [condition("PodScheduled"), condition("Initialized"), condition("ContainersReady"), condition("Ready")],
            "containerStatuses": [status("main"), status("sidecar")],
        },
    })
}

/// Creates Services with [`PODS_PER_SERVICE`] pods each; returns the number of Services.
pub(crate) async fn create_pods(client: &Client, pods: usize) -> anyhow::Result<usize> {
    let services = pods.div_ceil(PODS_PER_SERVICE);
    create_all(client, (0..services).map(service)).await?;
    let pods = (0..pods).map(|number| pod(number / PODS_PER_SERVICE, number % PODS_PER_SERVICE));
    create_all(client, pods).await?;
    Ok(services)
}

/// Creates objects with their status.
pub(crate) async fn create_all(client: &Client, objects: impl IntoIterator<Item = Value>) -> anyhow::Result<()> {
    for_each(objects, async |object| {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let Some(api) = api(client, namespace, &kind) else {
            bail!("objects of kind {kind} are not created here");
        };
        let status = object
            .get("status")
            .map(|status| Patch::Merge(json!({"status": status})));
        create(&api, object).await?;
        if let Some(status) = status {
            let patched = api.patch_status(&name, &PatchParams::default(), &status).await;
            patched.with_context(|| format!("cannot set the status of {kind} {name}"))?;
        }
        Ok(())
    })
    .await
}

/// Deletes a pod of each Service at once, without a grace period.
pub(crate) async fn delete_pods(client: &Client, services: usize, replica: usize) -> anyhow::Result<()> {
    for_each(0..services, async |service| {
        let name = pod_name(service, replica);
        let pods = api(client, namespace(service), "Pod").context("pods have an API")?;
        let deleted = pods.delete(&name, &DeleteParams::default().grace_period(0)).await;
        deleted.with_context(|| format!("cannot delete pod {name}"))?;
        Ok(())
    })
    .await
}

/// Gives all Endpoints this many addresses.
pub(crate) async fn change_endpoints(client: &Client, mirrored: usize, addresses: usize) -> anyhow::Result<()> {
    for_each(0..mirrored, async |number| {
        let name = mirrored_name(number);
        let endpoints = api(client, namespace(number), "Endpoints").context("Endpoints have an API")?;
        let patch = Patch::Merge(json!({"subsets": subsets(addresses)}));
        let patched = endpoints.patch(&name, &PatchParams::default(), &patch).await;
        patched.with_context(|| format!("cannot change Endpoints {name}"))?;
        Ok(())
    })
    .await
}

async fn for_each<T>(
    items: impl IntoIterator<Item = T>,
    action: impl AsyncFn(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let requests = stream::iter(items).map(|item| action(item));
    requests.buffer_unordered(CONCURRENCY).try_collect().await
}
