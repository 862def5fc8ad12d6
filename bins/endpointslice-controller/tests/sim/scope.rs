//! What the program looks at, and what it may do.

use apisim::faults::Match;
use serde_json::json;
use testenv::readme;

use crate::{
    server,
    stories::{PROGRAM, cluster::Cluster, start},
};

#[tokio::test]
async fn a_dry_run_tells_what_it_would_write_and_writes_nothing() {
    let (server, cluster) = server().await;
    let auto = json!({"annotations": {"service.kubernetes.io/topology-mode": "Auto"}});
    cluster.service("web", "web", auto).await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    let program = start(&[&server.flag(), "--dry-run"]).await;
    let plan = program.process.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("shop/web"), "{plan}");
    // Hints are impossible here, which is an event otherwise.
    program.process.wait_for_output("would tell").await.unwrap();
    cluster.service("last", "nobody", json!({})).await;
    program.process.wait_for_output("key=shop/last").await.unwrap();
    program.stop().await.unwrap();
    assert_eq!(server.faults.count(&Match::writes()), 0);
}

/// README.md: the command as it stands there.
#[tokio::test]
async fn the_documented_command_shows_what_would_be_done() {
    let (server, cluster) = server().await;
    cluster.service("web", "web", json!({})).await;
    let (program, _kubeconfig) = readme::start(PROGRAM, env!("CARGO_PKG_NAME"), &server).unwrap();
    let plan = program.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("shop/web"), "{plan}");
}

#[tokio::test]
async fn only_the_services_that_are_asked_for_are_looked_at() {
    let (server, shop) = server().await;
    let other = Cluster::new(shop.client.clone(), "other").await;
    let args = [
        &server.flag(),
        "--namespace=shop",
        "--service-selector=ours=yes",
        "--controller-name=us.example",
    ];
    let program = start(&args).await;
    let ours = json!({"labels": {"ours": "yes"}});
    other.service("web", "web", ours.clone()).await;
    shop.service("theirs", "web", json!({})).await;
    shop.service("web", "web", ours).await;
    shop.published("web", &[]).await;
    let slices = shop.slices("web").await;
    let labels = slices[0].metadata.labels.as_ref().unwrap();
    assert_eq!(labels["endpointslice.kubernetes.io/managed-by"], "us.example");
    assert!(shop.slices("theirs").await.is_empty());
    assert!(other.slices("web").await.is_empty());
    program.stop().await.unwrap();
}
