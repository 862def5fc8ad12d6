//! A restart and a relist cause no writes (I6).

use apisim::faults::{Match, Recorded};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;
use slice_oracle::Window;
use testenv::{ControlPlane, FaultProxy, block_watches, objects::create};

use crate::{harness::Harness, sync_counts};

/// Name prefix of the objects added last.
const NEW: &str = "zz-new";

/// Our controllers publish everything, stop and start again.
#[tokio::test]
async fn i6_a_restart_of_a_quiescent_cluster_writes_nothing() {
    let harness = Harness::new(ControlPlane::builder()).await;
    let ours = harness.start_ours().await;
    sync_counts::wait_for_ours(&ours, &harness).await;
    harness.start_phase("restart", Window::NoWrites).await;
    let before = harness.slice_writes().await;
    assert!(before > 0);
    ours.stop().await;
    let ours = harness.start_ours().await;
    sync_counts::wait_for_ours(&ours, &harness).await;
    harness.assert_clean().await;
    assert_eq!(harness.slice_writes().await, before);
    ours.stop().await;
}

/// All watches end, and their revisions are compacted (F11).
#[tokio::test]
async fn f11_a_relist_writes_nothing() {
    // With a watch cache, the API server would still serve compacted revisions.
    let harness = Harness::new(ControlPlane::builder().apiserver_arg("--watch-cache=false")).await;
    let proxy = FaultProxy::start(&harness.control_plane).await.unwrap();
    let ours = harness.start_ours_at(&proxy.url()).await;
    sync_counts::wait_for_ours(&ours, &harness).await;
    harness.start_phase("relist", Window::NoWrites).await;
    let before = harness.slice_writes().await;
    assert!(before > 0);

    let blocked = block_watches(proxy.faults()).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(harness.client.clone());
    // A watch at the last revision before the compaction could still be resumed.
    for name in ["one", "two"] {
        create(&maps, json!({"metadata": {"name": name}})).await.unwrap();
    }
    harness.control_plane.compact_etcd().await.unwrap();
    blocked.remove();
    let watched = ["endpointslices", "nodes", "pods", "services"];
    ours.services.wait_for_relist(&watched).await.unwrap();
    let watched = ["endpoints", "endpointslices", "services"];
    ours.mirroring.wait_for_relist(&watched).await.unwrap();
    harness.start_phase("new objects", Window::Any).await;
    assert_eq!(harness.slice_writes().await, before);

    // A controller that publishes the new objects has completed the relist.
    harness.add_objects(NEW).await;
    harness.assert_clean().await;
    let written = proxy.faults().requests(&Match::writes().resource("endpointslices"));
    let of_existing = |recorded: &&Recorded| !recorded.request.name.as_deref().unwrap().starts_with(NEW);
    assert_eq!(written.iter().filter(of_existing).count(), before);
    ours.stop().await;
}
