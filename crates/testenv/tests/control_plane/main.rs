//! The environment itself, on the real programs: this target needs Go.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod access;
mod cluster;
mod controllers;
#[path = "../faults/mod.rs"]
mod faults;
mod gates;
mod kubectl;
mod lifetime;
mod parts;
mod through_the_proxy;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

/// Waits until `condition` holds, and fails the test when it never does.
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
