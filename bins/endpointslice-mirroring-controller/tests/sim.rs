//! The binary on the in-memory API server, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod scenarios;

use apisim::{Config, Denied};
use testenv::{ControllerProcess, SimServer, metric_differences, readme};

/// Changes of Endpoints are mirrored, and a restart causes no writes (S16).
#[tokio::test]
async fn slices_follow_endpoints_and_a_restart_writes_nothing() {
    let server = SimServer::start().await.unwrap();
    scenarios::mirror_and_restart(&server.client(), &[&server.flag()]).await;
    assert_eq!(server.slice_writes(), server.writes());
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

#[tokio::test]
async fn metrics_are_those_of_the_reference() {
    let server = SimServer::start().await.unwrap();
    scenarios::prepare(&server.client()).await;
    let program = ControllerProcess::start(scenarios::PROGRAM, &[&server.flag(), "--leader-elect=true"])
        .await
        .unwrap();
    program
        .wait_for_page("/metrics", "leader_election_master_status{")
        .await
        .unwrap();
    let written = "endpoint_slice_mirroring_controller_changes{";
    let (_, page) = program.wait_for_page("/metrics", written).await.unwrap();
    assert_eq!(metric_differences(env!("CARGO_PKG_NAME"), &page).unwrap(), [""; 0]);
}

/// Slices are watched twice, our own and those with pods, but their permissions are reviewed once.
#[tokio::test]
async fn missing_permissions_are_named_once_and_end_nothing() {
    let config = Config {
        denied: ["list", "watch", "create"].map(denied).to_vec(),
        ..Config::default()
    };
    let server = SimServer::start_with(config).await.unwrap();
    let program = ControllerProcess::start(scenarios::PROGRAM, &[&server.flag()])
        .await
        .unwrap();
    let line = "[-]permissions missing: list endpointslices.discovery.k8s.io, watch endpointslices.discovery.k8s.io, \
                create endpointslices.discovery.k8s.io\n";
    program.wait_for_page("/readyz?verbose", line).await.unwrap();
    program.stop().await.unwrap();
}

fn denied(verb: &str) -> Denied {
    Denied {
        verb: Some(verb.to_owned()),
        resource: Some("endpointslices".to_owned()),
        ..Denied::default()
    }
}
