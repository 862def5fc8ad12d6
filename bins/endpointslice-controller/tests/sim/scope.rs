//! Scope of the program: dry run, namespace, Service selector, controller name.

use serde_json::json;
use testenv::readme;

use crate::{
    scenarios::{PROGRAM, cluster::Cluster, start},
    start_server,
};

#[tokio::test]
async fn a_dry_run_logs_the_planned_writes_and_writes_nothing() {
    let (server, cluster) = start_server().await;
    let auto = json!({"annotations": {"service.kubernetes.io/topology-mode": "Auto"}});
    cluster.service("web", "web", auto).await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    let program = start(&[&server.flag(), "--dry-run"]).await;
    let plan = program.process.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("shop/web"), "{plan}");
    // Hints are not possible here; without dry run this is an event.
    program.process.wait_for_output("would record event").await.unwrap();
    cluster.service("last", "no-pods", json!({})).await;
    program.process.wait_for_output("key=shop/last").await.unwrap();
    program.stop().await.unwrap();
    assert_eq!(server.writes(), 0);
}

/// Runs the dry-run command of README.md.
#[tokio::test]
async fn the_documented_dry_run_logs_the_planned_writes() {
    let (server, cluster) = start_server().await;
    cluster.service("web", "web", json!({})).await;
    let (program, _kubeconfig) = readme::start(PROGRAM, env!("CARGO_PKG_NAME"), &server).unwrap();
    let plan = program.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("shop/web"), "{plan}");
}

#[tokio::test]
async fn only_selected_services_are_synced() {
    let (server, shop) = start_server().await;
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
    shop.service("unselected", "web", json!({})).await;
    shop.service("web", "web", ours).await;
    shop.wait_published("web", &[]).await;
    let slices = shop.slices("web").await;
    let labels = slices[0].metadata.labels.as_ref().unwrap();
    assert_eq!(labels["endpointslice.kubernetes.io/managed-by"], "us.example");
    assert!(shop.slices("unselected").await.is_empty());
    assert!(other.slices("web").await.is_empty());
    program.stop().await.unwrap();
}
