//! Rights that are lost while the program runs.

use apisim::{
    faults::{Answer, Match, Rule, StreamFault},
    request::Verb,
};
use serde_json::json;

use crate::{server, stories::start};

/// F5: it keeps what it knows, goes on with it, says what is wrong, and heals.
#[tokio::test]
async fn what_was_known_stays_known() {
    let (server, cluster) = server().await;
    cluster.pod("web-1", "web", "10.1.0.1").await;
    let program = start(&[&server.flag()]).await;
    program.wait_ready().await.unwrap();

    let watch = || Match::verb(Verb::Watch).resource("pods");
    let forbidden = Answer::status(403).message("pods is forbidden");
    let refusal = server.faults.add(Rule::when(watch()).answer(forbidden));
    let cut = server.faults.add(Rule::when(watch()).stream(StreamFault::Cut));
    let (code, page) = program
        .wait_for_page("/readyz?verbose", "[-]pods failed: pods is forbidden (for ")
        .await
        .unwrap();
    assert_eq!(code, 200, "{page}");
    assert!(page.contains("what was seen before is kept"), "{page}");
    assert!(page.contains("[+]services ok\n"), "{page}");
    program.process.wait_for_output("watching failed").await.unwrap();
    cluster.service("web", "web", json!({})).await;
    cluster.published("web", &["10.1.0.1"]).await;

    cut.remove();
    refusal.remove();
    program.wait_for_page("/readyz?verbose", "[+]pods ok\n").await.unwrap();
    program.stop().await.unwrap();
}
