//! The program on the in-memory API server, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod obstacles;
mod pages;
mod relist;
mod rights;
mod scope;
mod signals;
#[path = "../stories/mod.rs"]
mod stories;

use apisim::faults::Match;
use testenv::SimServer;

use stories::{cluster::Cluster, smoke};

/// An API server with a namespace in it.
async fn server() -> (SimServer, Cluster) {
    let server = SimServer::start().await.unwrap();
    let cluster = Cluster::new(server.client(), "shop").await;
    (server, cluster)
}

#[tokio::test]
async fn slices_follow_pods_and_a_restart_writes_nothing() {
    let (server, cluster) = server().await;
    smoke(&cluster, &[&server.flag()]).await;
    // The program has no business with anything else.
    assert_eq!(server.slice_writes(), server.faults.count(&Match::writes()));
}
