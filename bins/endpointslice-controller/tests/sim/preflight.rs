//! A start on an API server that is not there yet, lacks a resource, denies access or rejects a request: the program waits, and
//! `/readyz` reports why it is not ready. Only a configuration error ends it.

use apisim::{
    Config, Denied,
    faults::{Answer, Match, Rule},
    request::Verb,
};
use serde_json::json;
use testenv::{SimServer, TestProcess};

use crate::{
    scenarios::{PROGRAM, cluster::Cluster, start},
    start_server,
};

/// The program starts with a fault, reports it in `/readyz`, and works once the fault is gone.
async fn waits_for(rule: Rule, reason: &str) {
    let (server, cluster) = start_server().await;
    cluster.service("web", "web", json!({})).await;
    let fault = server.faults.add(rule);
    let program = start(&[&server.flag()]).await;
    let (code, page) = program.wait_for_page("/readyz", reason).await.unwrap();
    assert_eq!(code, 500, "{page}");
    program
        .process
        .wait_for_output("list or watch failed, retrying")
        .await
        .unwrap();
    assert_eq!(program.get("/livez").await.unwrap().0, 200);
    assert_eq!(server.slice_writes(), 0);
    fault.remove();
    program.wait_ready().await.unwrap();
    cluster.wait_published("web", &[]).await;
    program.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_closes_connections_is_waited_for() {
    waits_for(Rule::when(Match::default()).drop_request(), "[-]pods failed: ").await;
}

#[tokio::test]
async fn a_server_without_endpointslices_is_waited_for() {
    let reason = "[-]endpointslices failed: the API server does not serve apis/discovery.k8s.io/v1/endpointslices, which is \
                  required (for ";
    waits_for(
        Rule::when(Match::default().resource("endpointslices")).answer(404),
        reason,
    )
    .await;
}

#[tokio::test]
async fn denied_lists_and_watches_are_retried() {
    let forbidden = Answer::status(403).message("pods is forbidden");
    let rule = Rule::when(Match::default().resource("pods")).answer(forbidden);
    waits_for(rule, "[-]pods failed: pods is forbidden (for ").await;
}

#[tokio::test]
async fn a_rejected_service_selector_is_reported_in_readyz() {
    let (server, _) = start_server().await;
    let program = start(&[&server.flag(), "--service-selector=a in"]).await;
    let (code, page) = program.wait_for_page("/readyz", "[-]services failed: ").await.unwrap();
    assert_eq!(code, 500, "{page}");
    program.stop().await.unwrap();
}

/// Permissions to write are named before the first write (R5).
#[tokio::test]
async fn missing_permissions_are_named_and_do_not_prevent_readiness() {
    let denied = |verb: &str, resource: &str| Denied {
        verb: Some(verb.to_owned()),
        resource: Some(resource.to_owned()),
        ..Denied::default()
    };
    let server = SimServer::start_with(Config {
        denied: vec![denied("create", "endpointslices"), denied("patch", "events")],
        ..Config::default()
    });
    let server = server.await.unwrap();
    let _cluster = Cluster::new(server.client(), "shop").await;
    let program = start(&[&server.flag()]).await;
    let missing = "create endpointslices.discovery.k8s.io, patch events";
    program.wait_ready().await.unwrap();
    let line = format!("[-]permissions missing: {missing}\n");
    let (code, page) = program.wait_for_page("/readyz?verbose", &line).await.unwrap();
    assert_eq!(code, 200, "{page}");
    let line = program
        .process
        .wait_for_output("permissions are missing")
        .await
        .unwrap();
    assert!(line.contains(missing), "{line}");
    assert_eq!(server.writes(), 0);
    program.stop().await.unwrap();
}

#[tokio::test]
async fn a_forbidden_review_ends_nothing() {
    let (server, cluster) = start_server().await;
    let forbidden = Answer::status(403).message("no reviews");
    let rule = Rule::on(Verb::Create, "selfsubjectaccessreviews").answer(forbidden);
    let denied = server.faults.add(rule);
    let program = start(&[&server.flag()]).await;
    let line = "[-]permissions not reviewed: no reviews\n";
    program.wait_for_page("/readyz?verbose", line).await.unwrap();
    cluster.service("web", "web", json!({})).await;
    cluster.wait_published("web", &[]).await;
    denied.remove();
    program
        .wait_for_page("/readyz?verbose", "[+]permissions ok\n")
        .await
        .unwrap();
    program.stop().await.unwrap();
}

#[tokio::test]
async fn an_invalid_namespace_ends_the_program() {
    let (server, _) = start_server().await;
    let errors = start_fails(&[&server.flag(), "--namespace=a b"]).await;
    let resources = ["pods", "services", "endpointslices"];
    assert_eq!(errors.len(), resources.len(), "{errors:?}");
    for resource in resources {
        let start = format!("cannot list and watch {resource}: ");
        assert!(errors.iter().any(|error| error.starts_with(&start)), "{errors:?}");
    }
    assert_eq!(server.faults.count(&Match::default()), 0);
}

/// Runs the program, which must exit with 1. Returns the reported errors.
async fn start_fails(args: &[&str]) -> Vec<String> {
    let binary = TestProcess::start(PROGRAM, args, &[]).unwrap();
    let (code, errors) = binary.wait_for_startup_error().await.unwrap();
    assert_eq!(code, Some(1), "{}", binary.output());
    errors
}
