//! Both controllers on the in-memory API server.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod churn;
mod controllers;

use std::time::Duration;

use testenv::SimServer;

#[tokio::test]
async fn random_churn_violates_no_invariant() {
    let server = SimServer::start().await.unwrap();
    churn::churn(
        server.client(),
        &[server.flag(), server.flag()],
        10,
        Duration::from_millis(5),
    )
    .await;
}
