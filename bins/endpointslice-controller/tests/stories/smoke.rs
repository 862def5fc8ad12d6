//! From objects to slices, and nothing more after a restart.

use std::time::Duration;

use serde_json::json;
use slice_oracle::{CheckConfig, Recorder, Window, assert_clean};

use super::{cluster::Cluster, start};

const QUIET: Duration = Duration::from_secs(1);

/// Slices follow pods; after a restart they are left alone.
pub(crate) async fn smoke(cluster: &Cluster, args: &[&str]) {
    let recorder = Recorder::start(cluster.client.clone()).await.unwrap();
    let program = start(args).await;
    cluster.service("web", "web", json!({})).await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    cluster.pod("web-2", "web", "10.1.0.2").await;
    cluster.published("web", &["10.1.0.1", "10.1.0.2"]).await;
    cluster.delete_pod("web-1").await;
    cluster.published("web", &["10.1.0.2"]).await;
    program.wait_ready().await.unwrap();
    program.stop().await.unwrap();

    let before = cluster.slices("web").await;
    recorder.wait_quiescent(QUIET).await.unwrap();
    recorder.mark("a restart", Window::NoWrites).await.unwrap();
    let program = start(args).await;
    // Keys are looked at in their order, so whoever is asked for last is written last.
    program.wait_ready().await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();
    recorder.mark("one more", Window::OneWritePerSlice).await.unwrap();
    cluster.service("last", "nobody", json!({})).await;
    cluster.published("last", &[]).await;
    assert_eq!(cluster.slices("web").await, before);
    program.stop().await.unwrap();
    recorder.wait_quiescent(QUIET).await.unwrap();
    let limits = CheckConfig {
        mirroring: None,
        ..CheckConfig::default()
    };
    assert_clean(&recorder.history().unwrap(), &limits, env!("CARGO_TARGET_TMPDIR"));
}
