//! Relist after an expired watch.

use serde_json::json;
use testenv::block_watches;

use crate::{scenarios::start, start_server};

/// After 410 Gone, the relist finds created and deleted objects, and only their Services are written (F11).
#[tokio::test]
async fn a_relist_finds_changes_and_writes_nothing_else() {
    let (server, cluster) = start_server().await;
    for number in 1..=3 {
        let (name, address) = (format!("web-{number}"), format!("10.1.0.{number}"));
        cluster.pod(&name, "web", &address).await;
    }
    for name in ["one", "two", "three"] {
        cluster.service(name, "web", json!({})).await;
    }
    cluster.service("none", "no-pods", json!({})).await;
    let program = start(&[&server.flag()]).await;
    for name in ["one", "two", "three"] {
        cluster
            .wait_published(name, &["10.1.0.1", "10.1.0.2", "10.1.0.3"])
            .await;
    }
    cluster.wait_published("none", &[]).await;
    let before = server.slice_writes();

    let block_watches = block_watches(&server.faults).await.unwrap();
    cluster.delete_pod("web-2").await;
    cluster.pod("web-4", "web", "10.1.0.4").await;
    server.compact();
    block_watches.remove();
    for name in ["one", "two", "three"] {
        cluster
            .wait_published(name, &["10.1.0.1", "10.1.0.3", "10.1.0.4"])
            .await;
    }
    let resources = ["endpointslices", "nodes", "pods", "services"];
    program.wait_for_relist(&resources).await.unwrap();
    program
        .wait_for_page("/readyz?verbose", "readyz check passed")
        .await
        .unwrap();
    // Keys are synced in the order of enqueueing, so this key is written last.
    cluster.service("last", "no-pods", json!({})).await;
    cluster.wait_published("last", &[]).await;
    let log = program.stop().await.unwrap();
    assert_eq!(server.slice_writes() - before, 4, "{log}");
}
