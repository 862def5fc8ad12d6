//! Scenarios that run on both API servers.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Service};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use slice_oracle::{CheckConfig, Recorder, Window, assert_clean};
use testenv::{
    ControllerProcess,
    objects::{create, ready_addresses, slices_of},
    until,
};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-mirroring-controller");

const NAMESPACE: &str = "shop";
const QUIESCENT_FOR: Duration = Duration::from_secs(1);

/// Changes of Endpoints are mirrored; a restart causes no writes.
pub(crate) async fn mirror_and_restart(client: &Client, args: &[&str]) {
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    let program = ControllerProcess::start(PROGRAM, args).await.unwrap();
    prepare(client).await;
    wait_mirrored(client, "db", &["10.1.0.1", "10.1.0.2"]).await;
    let patch = Patch::Merge(json!({"subsets": subsets(&["10.1.0.2"])}));
    endpoints.patch("db", &PatchParams::default(), &patch).await.unwrap();
    wait_mirrored(client, "db", &["10.1.0.2"]).await;
    program.wait_ready().await.unwrap();
    program.stop().await.unwrap();

    let before = slices_of(client, NAMESPACE, "db").await.unwrap();
    recorder.wait_quiescent(QUIESCENT_FOR).await.unwrap();
    recorder.mark("a restart", Window::NoWrites).await.unwrap();
    let program = ControllerProcess::start(PROGRAM, args).await.unwrap();
    program.wait_ready().await.unwrap();
    recorder.wait_quiescent(QUIESCENT_FOR).await.unwrap();
    recorder.mark("one more", Window::OneWritePerSlice).await.unwrap();
    // Keys are synced in the order of enqueueing, so this key is written last.
    add_endpoints(client, "last", &["10.1.0.3"]).await;
    wait_mirrored(client, "last", &["10.1.0.3"]).await;
    assert_eq!(slices_of(client, NAMESPACE, "db").await.unwrap(), before);
    program.stop().await.unwrap();
    recorder.wait_quiescent(QUIESCENT_FOR).await.unwrap();
    let limits = CheckConfig {
        services: None,
        ..CheckConfig::default()
    };
    assert_clean(&recorder.history().unwrap(), &limits, env!("CARGO_TARGET_TMPDIR"));
}

/// Creates a namespace with a Service and an Endpoints object to mirror.
pub(crate) async fn prepare(client: &Client) {
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    create(&Api::<Namespace>::all(client.clone()), namespace).await.unwrap();
    add_endpoints(client, "db", &["10.1.0.1", "10.1.0.2"]).await;
}

/// Creates a Service without a selector, and its Endpoints object.
async fn add_endpoints(client: &Client, name: &str, addresses: &[&str]) {
    let metadata = json!({"name": name});
    let service = json!({"metadata": metadata, "spec": {"ports": [{"port": 80}]}});
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    create(&services, service).await.unwrap();
    let endpoints = json!({"metadata": metadata, "subsets": subsets(addresses)});
    let objects: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    create(&objects, endpoints).await.unwrap();
}

fn subsets(addresses: &[&str]) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
    json!([{"addresses": addresses, "ports": [{"port": 80}]}])
}

/// Waits until the slices of a Service have exactly these ready addresses.
async fn wait_mirrored(client: &Client, service: &str, addresses: &[&str]) {
    let is_mirrored = async || {
        let slices = slices_of(client, NAMESPACE, service).await.unwrap();
        ready_addresses(&slices).as_deref() == Some(addresses)
    };
    until(&format!("{service} has {addresses:?}"), is_mirrored)
        .await
        .unwrap();
}
