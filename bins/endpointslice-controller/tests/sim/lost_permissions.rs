//! Permissions that are revoked while the program runs.

use apisim::{
    faults::{Answer, Match, Rule, StreamFault},
    request::Verb,
};
use serde_json::json;

use crate::{scenarios::start, start_server};

/// The cache stays as last seen, syncs go on, the error is shown, and the watch recovers (F5).
#[tokio::test]
async fn the_cache_is_used_after_permissions_are_lost() {
    let (server, cluster) = start_server().await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    let program = start(&[&server.flag()]).await;
    program.wait_ready().await.unwrap();

    let watch = || Match::verb(Verb::Watch).resource("pods");
    let forbidden = Answer::status(403).message("pods is forbidden");
    let denied = server.faults.add(Rule::when(watch()).answer(forbidden));
    let cut = server.faults.add(Rule::when(watch()).stream(StreamFault::Cut));
    let (code, page) = program
        .wait_for_page("/readyz?verbose", "[-]pods failed: pods is forbidden (for ")
        .await
        .unwrap();
    assert_eq!(code, 200, "{page}");
    assert!(page.contains("cached objects stay in use"), "{page}");
    assert!(page.contains("[+]services ok"), "{page}");
    program.process.wait_for_output("list or watch failed").await.unwrap();
    cluster.service("web", "web", json!({})).await;
    cluster.wait_published("web", &["10.1.0.1"]).await;

    cut.remove();
    denied.remove();
    program.wait_for_page("/readyz?verbose", "[+]pods ok").await.unwrap();
    program.stop().await.unwrap();
}
