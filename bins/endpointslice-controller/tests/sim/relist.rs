//! What happened while nobody looked.

use apisim::{
    faults::{Match, Rule, RuleHandle, StreamFault},
    request::Verb,
};
use serde_json::json;
use testenv::{Program, SimServer, until};

use crate::{server, stories::start};

/// Ends all watches, and lets no new one begin before the rule is removed.
async fn blindfold(server: &SimServer) -> RuleHandle {
    let watches = || Match::verb(Verb::Watch);
    let hold = server.faults.add(Rule::when(watches()).hold_request());
    let cut = server.faults.add(Rule::when(watches()).stream(StreamFault::Cut));
    let all_ended = async || server.faults.open_streams(&watches()) == 0;
    until("all watches end", all_ended).await.unwrap();
    cut.remove();
    hold
}

/// Waits until the program has found out, for every resource, that it has to list anew.
async fn has_relisted(program: &Program) {
    for resource in ["endpointslices", "nodes", "pods", "services"] {
        let line = format!("listing anew resource=\"{resource}\"");
        program.binary.says(&line).await.unwrap();
    }
    program.shows("/readyz?verbose", "readyz check passed").await.unwrap();
}

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

    let blindfold = blindfold(&server).await;
    cluster.delete_pod("web-2").await;
    cluster.pod("web-4", "web", "10.1.0.4").await;
    server.compact();
    blindfold.remove();
    for name in ["one", "two", "three"] {
        cluster.published(name, &["10.1.0.1", "10.1.0.3", "10.1.0.4"]).await;
    }
    has_relisted(&program).await;
    // Keys are looked at in their order, so whoever is asked for last is written last.
    cluster.service("last", "nobody", json!({})).await;
    cluster.published("last", &[]).await;
    let said = program.stop().await.unwrap();
    assert_eq!(server.slice_writes() - before, 4, "{said}");
}
