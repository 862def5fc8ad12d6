//! Tests of testenv with the real control-plane binaries. This target needs Go.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod access;
mod audit;
mod cluster;
mod components;
mod controllers;
mod fault_proxy;
#[path = "../faults/mod.rs"]
mod faults;
mod gates;
mod kubectl;
mod lifetime;
mod replica;
mod webhook;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

/// Waits until `condition` holds; fails the test after the timeout.
async fn until(what: &str, condition: impl AsyncFnMut() -> bool) {
    testenv::until(what, condition).await.unwrap();
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}
