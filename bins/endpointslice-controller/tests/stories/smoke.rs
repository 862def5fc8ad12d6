//! From objects to slices, and nothing more after a restart.

use serde_json::json;

use super::{cluster::Cluster, start};

/// Slices follow pods; after a restart they are left alone.
pub(crate) async fn smoke(cluster: &Cluster, args: &[&str]) {
    let program = start(args).await;
    cluster.service("web", "web", json!({})).await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    cluster.pod("web-2", "web", "10.1.0.2").await;
    cluster.published("web", &["10.1.0.1", "10.1.0.2"]).await;
    cluster.delete_pod("web-1").await;
    cluster.published("web", &["10.1.0.2"]).await;
    program.ready().await.unwrap();
    program.stop().await.unwrap();

    let before = cluster.slices("web").await;
    let program = start(args).await;
    // Keys are looked at in their order, so whoever is asked for last is written last.
    program.ready().await.unwrap();
    cluster.service("last", "nobody", json!({})).await;
    cluster.published("last", &[]).await;
    assert_eq!(cluster.slices("web").await, before);
    program.stop().await.unwrap();
}
