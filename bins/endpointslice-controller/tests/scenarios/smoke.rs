//! Smoke test: pods are published, and a restart causes no writes.

use std::time::Duration;

use serde_json::json;
use slice_oracle::{CheckConfig, Recorder, Window, assert_clean};

use super::{cluster::Cluster, start};

const QUIESCENT_FOR: Duration = Duration::from_secs(1);

/// Changes of pods are published; a restart causes no writes.
pub(crate) async fn smoke(cluster: &Cluster, args: &[&str]) {
    let recorder = Recorder::start(cluster.client.clone()).await.unwrap();
    let program = start(args).await;
    cluster.service("web", "web", json!({})).await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    cluster.pod("web-2", "web", "10.1.0.2").await;
    cluster.wait_published("web", &["10.1.0.1", "10.1.0.2"]).await;
    cluster.delete_pod("web-1").await;
    cluster.wait_published("web", &["10.1.0.2"]).await;
    program.wait_ready().await.unwrap();
    program.stop().await.unwrap();

    let before = cluster.slices("web").await;
    recorder.wait_quiescent(QUIESCENT_FOR).await.unwrap();
    recorder.mark("a restart", Window::NoWrites).await.unwrap();
    let program = start(args).await;
    program.wait_ready().await.unwrap();
    recorder.wait_quiescent(QUIESCENT_FOR).await.unwrap();
    recorder.mark("one more", Window::OneWritePerSlice).await.unwrap();
    // Keys are synced in the order of enqueueing, so this key is written last.
    cluster.service("last", "no-pods", json!({})).await;
    cluster.wait_published("last", &[]).await;
    assert_eq!(cluster.slices("web").await, before);
    program.stop().await.unwrap();
    recorder.wait_quiescent(QUIESCENT_FOR).await.unwrap();
    let limits = CheckConfig {
        mirroring: None,
        ..CheckConfig::default()
    };
    assert_clean(&recorder.history().unwrap(), &limits, env!("CARGO_TARGET_TMPDIR"));
}
