//! The program on the in-memory API server, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod story;

use apisim::{
    faults::{Match, Rule},
    request::Verb,
};
use testenv::{SimServer, TestProcess, readme};

/// S16.
#[tokio::test]
async fn slices_follow_endpoints_and_a_restart_writes_nothing() {
    let server = SimServer::start().await.unwrap();
    story::play(&server.client(), &[&server.flag()]).await;
    assert_eq!(server.slice_writes(), server.faults.count(&Match::writes()));
}

/// README.md: the command as it stands there.
#[tokio::test]
async fn the_documented_command_shows_what_would_be_done() {
    let server = SimServer::start().await.unwrap();
    story::prepare(&server.client()).await;
    let (program, _kubeconfig) = readme::start(story::PROGRAM, env!("CARGO_PKG_NAME"), &server).unwrap();
    let plan = program.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("shop/db"), "{plan}");
}

/// Slices are watched twice, our own and those with pods, and that is nobody's concern.
#[tokio::test]
async fn missing_rights_are_told_once() {
    let server = SimServer::start().await.unwrap();
    server.faults.add(Rule::on(Verb::List, "endpointslices").answer(403));
    server.faults.add(Rule::on(Verb::Watch, "endpoints").answer(403));
    let program = TestProcess::start(story::PROGRAM, &[&server.flag()], &[]).unwrap();
    let (code, mut complaints) = program.wait_for_startup_error().await.unwrap();
    complaints.sort();
    let told = |what: &str| format!("{}/: not allowed to {what}: injected fault: 403", server.url());
    assert_eq!(code, Some(1));
    assert_eq!(complaints, [told("list endpointslices"), told("watch endpoints")]);
}
