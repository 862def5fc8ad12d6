//! The environment itself, on the real programs: this target needs Go.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod access;
mod cluster;
mod controllers;
#[path = "../faults/mod.rs"]
mod faults;
mod gates;
mod history;
mod kubectl;
mod lifetime;
mod parts;
mod through_the_proxy;

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

/// Waits until `condition` holds, and fails the test when it never does.
async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let hold = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let patience = Duration::from_secs(120);
    tokio::time::timeout(patience, hold)
        .await
        .unwrap_or_else(|_| panic!("never: {what}"));
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
