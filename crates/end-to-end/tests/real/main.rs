//! Both controllers on the real control plane, checked by the oracle.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

#[path = "../accounts/mod.rs"]
mod accounts;
#[path = "../churn/mod.rs"]
mod churn;
#[path = "../controllers/mod.rs"]
mod controllers;
mod credentials;
mod fixtures;
mod harness;
mod metrics;
mod restart;
mod rolling;
mod shadow;
mod sync_counts;
mod takeover;

use std::time::Duration;

use testenv::ControlPlane;

use crate::accounts::Accounts;

/// One minute of random churn; `CHURN_SECONDS` for more.
#[tokio::test]
async fn random_churn_violates_no_invariant() {
    let builder = accounts::control_plane(ControlPlane::builder());
    let control_plane = builder.start().await.unwrap();
    // The garbage collector deletes slices of deleted Services.
    let collector = ["garbage-collector-controller"];
    let _manager = control_plane.controller_manager(&collector, &[]).await.unwrap();
    let accounts = Accounts::deploy(&control_plane).await;
    let flags = harness::kubeconfig_flags(&control_plane, &accounts, control_plane.url());
    churn::churn(control_plane.client().unwrap(), &flags, 60, Duration::from_millis(40)).await;
}
