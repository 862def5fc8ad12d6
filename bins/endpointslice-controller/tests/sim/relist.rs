//! What happened while nobody looked.

use serde_json::json;
use testenv::block_watches;

use crate::{server, stories::start};

/// F11: after 410, what changed is found by difference, and nothing else is written.
#[tokio::test]
async fn a_new_list_shows_what_changed_and_only_that_is_written() {
    let (server, cluster) = server().await;
    for number in 1..=3 {
        let (name, address) = (format!("web-{number}"), format!("10.1.0.{number}"));
        cluster.pod(&name, "web", &address).await;
    }
    for name in ["one", "two", "three"] {
        cluster.service(name, "web", json!({})).await;
    }
    cluster.service("none", "nobody", json!({})).await;
    let program = start(&[&server.flag()]).await;
    for name in ["one", "two", "three"] {
        cluster.published(name, &["10.1.0.1", "10.1.0.2", "10.1.0.3"]).await;
    }
    cluster.published("none", &[]).await;
    let before = server.slice_writes();

    let blindfold = block_watches(&server.faults).await.unwrap();
    cluster.delete_pod("web-2").await;
    cluster.pod("web-4", "web", "10.1.0.4").await;
    server.compact();
    blindfold.remove();
    for name in ["one", "two", "three"] {
        cluster.published(name, &["10.1.0.1", "10.1.0.3", "10.1.0.4"]).await;
    }
    let resources = ["endpointslices", "nodes", "pods", "services"];
    program.wait_for_relist(&resources).await.unwrap();
    program
        .wait_for_page("/readyz?verbose", "readyz check passed")
        .await
        .unwrap();
    // Keys are looked at in their order, so whoever is asked for last is written last.
    cluster.service("last", "nobody", json!({})).await;
    cluster.published("last", &[]).await;
    let said = program.stop().await.unwrap();
    assert_eq!(server.slice_writes() - before, 4, "{said}");
}
