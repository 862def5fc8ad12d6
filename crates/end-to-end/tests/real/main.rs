//! Both programs on the real control plane, judged by what became of the slices.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../churn/mod.rs"]
mod churn;
mod credentials;
mod kinds;
mod looks;
mod metrics;
#[path = "../programs/mod.rs"]
mod programs;
mod restart;
mod rolling;
mod takeover;
mod world;

use std::time::Duration;

use testenv::ControlPlane;

/// A minute of everything; `CHURN_SECONDS` for more.
#[tokio::test]
async fn random_churn_breaks_no_invariant() {
    let control_plane = ControlPlane::start().await.unwrap();
    // Slices of Services that are gone are nobody else's business.
    let collector = ["garbage-collector-controller"];
    let _manager = control_plane.controller_manager(&collector, &[]).await.unwrap();
    let flag = world::kubeconfig_flag(&control_plane);
    churn::churn(control_plane.client().unwrap(), &flag, 60, Duration::from_millis(40)).await;
}
