//! The binary on the in-memory API server, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod hanging_writes;
mod http_endpoints;
mod lost_permissions;
mod preflight;
mod relist;
#[path = "../scenarios/mod.rs"]
mod scenarios;
mod scope;
mod signals;

use testenv::SimServer;

use scenarios::{cluster::Cluster, smoke};

/// Starts an API server with a namespace.
async fn start_server() -> (SimServer, Cluster) {
    let server = SimServer::start().await.unwrap();
    let cluster = Cluster::new(server.client(), "shop").await;
    (server, cluster)
}

#[tokio::test]
async fn slices_follow_pods_and_a_restart_writes_nothing() {
    let (server, cluster) = start_server().await;
    smoke(&cluster, &[&server.flag()]).await;
    // The program writes nothing but slices.
    assert_eq!(server.slice_writes(), server.writes());
}
