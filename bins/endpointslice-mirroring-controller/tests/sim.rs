//! The binary on the in-memory API server, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scenarios;

use apisim::{
    faults::{Match, Rule},
    request::Verb,
};
use testenv::{SimServer, TestProcess, readme};

/// Changes of Endpoints are mirrored, and a restart causes no writes (S16).
#[tokio::test]
async fn slices_follow_endpoints_and_a_restart_writes_nothing() {
    let server = SimServer::start().await.unwrap();
    scenarios::mirror_and_restart(&server.client(), &[&server.flag()]).await;
    assert_eq!(server.slice_writes(), server.faults.count(&Match::writes()));
}

/// Runs the dry-run command of README.md.
#[tokio::test]
async fn the_documented_dry_run_logs_the_planned_writes() {
    let server = SimServer::start().await.unwrap();
    scenarios::prepare(&server.client()).await;
    let (program, _kubeconfig) = readme::start(scenarios::PROGRAM, env!("CARGO_PKG_NAME"), &server).unwrap();
    let plan = program.wait_for_output("would write").await.unwrap();
    assert!(plan.contains("shop/db"), "{plan}");
}

/// Slices are watched twice, our own and those with pods, but an error about them is reported once.
#[tokio::test]
async fn missing_permissions_are_reported_once() {
    let server = SimServer::start().await.unwrap();
    server.faults.add(Rule::on(Verb::List, "endpointslices").answer(403));
    server.faults.add(Rule::on(Verb::Watch, "endpoints").answer(403));
    let program = TestProcess::start(scenarios::PROGRAM, &[&server.flag()], &[]).unwrap();
    let (code, mut errors) = program.wait_for_startup_error().await.unwrap();
    errors.sort();
    let denied = |request: &str| {
        format!(
            "{}/: not allowed to {request}: injected fault: 403; check the credentials and RBAC rules",
            server.url()
        )
    };
    assert_eq!(code, Some(1));
    assert_eq!(errors, [denied("list endpointslices"), denied("watch endpoints")]);
}
