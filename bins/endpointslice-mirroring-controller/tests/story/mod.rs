//! What is played on both API servers.

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
const QUIET: Duration = Duration::from_secs(1);

/// Slices follow Endpoints; after a restart they are left alone.
pub(crate) async fn play(client: &Client, args: &[&str]) {
    let recorder = Recorder::start(client.clone()).await.unwrap();
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    let program = ControllerProcess::start(PROGRAM, args).await.unwrap();
    prepare(client).await;
    mirrored(client, "db", &["10.1.0.1", "10.1.0.2"]).await;
    let patch = Patch::Merge(json!({"subsets": subsets(&["10.1.0.2"])}));
    endpoints.patch("db", &PatchParams::default(), &patch).await.unwrap();
    mirrored(client, "db", &["10.1.0.2"]).await;
    program.wait_ready().await.unwrap();
    program.stop().await.unwrap();

    let before = slices_of(client, NAMESPACE, "db").await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();
    recorder.mark("a restart", Window::NoWrites).await.unwrap();
    let program = ControllerProcess::start(PROGRAM, args).await.unwrap();
    program.wait_ready().await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();
    recorder.mark("one more", Window::OneWritePerSlice).await.unwrap();
    // Keys are looked at in their order, so whoever is asked for last is written last.
    add(client, "last", &["10.1.0.3"]).await;
    mirrored(client, "last", &["10.1.0.3"]).await;
    assert_eq!(slices_of(client, NAMESPACE, "db").await.unwrap(), before);
    program.stop().await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();
    let limits = CheckConfig {
        services: None,
        ..CheckConfig::default()
    };
    assert_clean(&recorder.history().unwrap(), &limits, env!("CARGO_TARGET_TMPDIR"));
}

/// A namespace with something to mirror in it.
pub(crate) async fn prepare(client: &Client) {
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    create(&Api::<Namespace>::all(client.clone()), namespace).await.unwrap();
    add(client, "db", &["10.1.0.1", "10.1.0.2"]).await;
}

/// A Service without a selector, and an Endpoints object for it.
async fn add(client: &Client, name: &str, addresses: &[&str]) {
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

async fn mirrored(client: &Client, service: &str, addresses: &[&str]) {
    let is_so = async || {
        let slices = slices_of(client, NAMESPACE, service).await.unwrap();
        ready_addresses(&slices).as_deref() == Some(addresses)
    };
    until(&format!("{service} has {addresses:?}"), is_so).await.unwrap();
}
