//! Both programs on the in-memory API server, where time is cheap.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod churn;
mod programs;

use std::time::Duration;

use testenv::SimServer;

#[tokio::test]
async fn random_churn_breaks_no_invariant() {
    let server = SimServer::start().await.unwrap();
    churn::churn(server.client(), &server.flag(), 10, Duration::from_millis(5)).await;
}
