//! Shutdown by signals.

use apisim::{
    faults::{Match, Rule, RuleHandle},
    request::Verb,
};
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use testenv::{ControllerProcess, Signal, SimServer, TestProcess, until};

use crate::{
    scenarios::{PROGRAM, cluster::Cluster, start},
    start_server,
};

/// Starts a program with a write in flight that gets no response until the rule is removed.
async fn start_with_write_in_flight(server: &SimServer, cluster: &Cluster) -> (ControllerProcess, RuleHandle) {
    let hold = server
        .faults
        .add(Rule::on(Verb::Create, "endpointslices").hold_request());
    let program = start(&[&server.flag()]).await;
    cluster.service("web", "web", json!({})).await;
    until("a create is sent", async || server.slice_writes() == 1)
        .await
        .unwrap();
    (program, hold)
}

/// A signal lets writes in flight complete (R41, M34, T-WQ-07).
#[tokio::test]
async fn writes_in_flight_complete_on_shutdown() {
    for signal in [Signal::TERM, Signal::INT] {
        let (server, cluster) = start_server().await;
        let (program, hold) = start_with_write_in_flight(&server, &cluster).await;
        program.process.signal(signal).unwrap();
        program.process.wait_for_output("shutdown requested").await.unwrap();
        assert!(cluster.slices("web").await.is_empty());
        hold.remove();
        let status = program.process.wait().await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", program.process.output());
        assert_eq!(cluster.slices("web").await.len(), 1, "{}", program.process.output());
        assert!(
            program.process.output().contains("slices written"),
            "{}",
            program.process.output()
        );
    }
}

/// Shutdown starts no sync: due keys that wait for a slot (unlike G-32), keys enqueued while in flight (unlike T-WQ-10) and
/// delayed keys (R41) are left to the next start.
#[tokio::test]
async fn g_32_t_wq_10_no_sync_starts_on_shutdown() {
    let (server, cluster) = start_server().await;
    let hold = server
        .faults
        .add(Rule::on(Verb::Create, "endpointslices").hold_request());
    let one_writer = "--concurrent-service-endpoint-syncs=1";
    let an_hour = "--endpointslice-updates-batch-period=1h";
    let program = start(&[&server.flag(), one_writer, an_hour]).await;
    cluster.service("web", "web", json!({})).await;
    until("a create is sent", async || server.slice_writes() == 1)
        .await
        .unwrap();
    let services = Api::<Service>::namespaced(cluster.client.clone(), &cluster.namespace);
    let label = Patch::Merge(json!({"metadata": {"labels": {"changed": "in-flight"}}}));
    services.patch("web", &PatchParams::default(), &label).await.unwrap();
    cluster.service("db", "db", json!({})).await;
    cluster.pod("p", "db", "10.0.0.1").await;
    let db_is_queued = "workqueue_depth{name=\"endpoint_slice\"} 1\n";
    program.wait_for_page("/metrics", db_is_queued).await.unwrap();
    program.process.signal(Signal::TERM).unwrap();
    program.process.wait_for_output("shutdown requested").await.unwrap();
    hold.remove();
    let status = program.process.wait().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", program.process.output());
    let web = &cluster.slices("web").await[0];
    assert!(!web.metadata.labels.as_ref().unwrap().contains_key("changed"));
    assert_eq!(server.slice_writes(), 1, "the create that was in flight");
    assert!(cluster.slices("db").await.is_empty());
}

/// The program exits with 1 without waiting for the write in flight (T-WQ-08, T-WQ-09).
#[tokio::test]
async fn a_second_signal_exits_immediately() {
    let (server, cluster) = start_server().await;
    let (program, _hold) = start_with_write_in_flight(&server, &cluster).await;
    program.process.signal(Signal::INT).unwrap();
    program.process.wait_for_output("shutdown requested").await.unwrap();
    program.process.signal(Signal::TERM).unwrap();
    assert_eq!(program.process.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn a_signal_while_the_server_does_not_respond_exits_cleanly() {
    let (server, _) = start_server().await;
    server.faults.add(Rule::when(Match::default()).hold_request());
    let binary = TestProcess::start(PROGRAM, &[&server.flag()], &[]).unwrap();
    binary.wait_for_output("starting").await.unwrap();
    binary.signal(Signal::TERM).unwrap();
    assert_eq!(binary.wait().await.unwrap().code(), Some(0), "{}", binary.output());
}
