//! Measures the writes per second of the simulator with a client in the same process:
//! `cargo run --release -p apisim --example throughput`.

use std::{fmt::Debug, time::Instant};

use apisim::ApiSim;
use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::{Api, Client, ResourceExt as _, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pods = (0..20_000).map(pod).collect::<Result<Vec<_>, _>>()?;
    measure("pods", &pods).await?;
    let slices = (0..2_000).map(slice).collect::<Result<Vec<_>, _>>()?;
    measure("slices of 100 endpoints", &slices).await?;
    Ok(())
}

/// Creates all objects, then updates each of them once.
async fn measure<K>(name: &str, objects: &[K]) -> Result<(), Box<dyn std::error::Error>>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::default_namespaced(Client::new(ApiSim::new(), "default"));
    let begin = Instant::now();
    let mut stored = Vec::new();
    for object in objects {
        stored.push(api.create(&PostParams::default(), object).await?.resource_version());
    }
    for (object, version) in objects.iter().zip(stored) {
        let mut object = object.clone();
        object.meta_mut().resource_version = version;
        object.labels_mut().insert("written".into(), "twice".into());
        api.replace(&object.name_any(), &PostParams::default(), &object).await?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "the rate is printed without fraction digits")]
    let rate = (2 * objects.len()) as f64 / seconds;
    println!("{name}: {rate:.0} writes/s");
    Ok(())
}

fn pod(number: usize) -> serde_json::Result<Pod> {
    serde_json::from_value(json!({
        "metadata": {"name": format!("pod-{number}"), "labels": {"app": "web"}},
        "spec": {"nodeName": "node", "containers": [{"name": "web", "image": "web", "ports": [{"containerPort": 80}]}]},
    }))
}

fn slice(number: usize) -> serde_json::Result<EndpointSlice> {
    let endpoints: Vec<_> = (0..100)
        .map(|endpoint| {
            json!({
                "addresses": [format!("10.{}.{}.{endpoint}", number / 250, number % 250)],
                "conditions": {"ready": true, "serving": true, "terminating": false},
                "nodeName": "node", "zone": "zone",
                "targetRef": {"kind": "Pod", "namespace": "default", "name": format!("pod-{endpoint}"), "uid": "uid"},
            })
        })
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": format!("slice-{number}")},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 80}],
        "endpoints": endpoints,
    }))
}
