//! How the program ends.

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
    server,
    stories::{PROGRAM, cluster::Cluster, start},
};

/// A program with a write under way that is not answered as long as the rule holds.
async fn with_a_write_under_way(server: &SimServer, cluster: &Cluster) -> (ControllerProcess, RuleHandle) {
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

/// R41, M34, T-WQ-07.
#[tokio::test]
async fn writes_under_way_are_finished() {
    for signal in [Signal::TERM, Signal::INT] {
        let (server, cluster) = server().await;
        let (program, hold) = with_a_write_under_way(&server, &cluster).await;
        program.process.signal(signal).unwrap();
        program.process.wait_for_output("asked to end").await.unwrap();
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

/// R41: also those of keys that wait for a writer (G-32), and of one that was asked for while it was written (T-WQ-10); but not
/// of those whose time has not come.
#[tokio::test]
async fn g_32_t_wq_10_what_is_due_is_written_and_what_waits_is_not() {
    let (server, cluster) = server().await;
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
    let label = Patch::Merge(json!({"metadata": {"labels": {"asked-for": "again"}}}));
    services.patch("web", &PatchParams::default(), &label).await.unwrap();
    cluster.service("db", "db", json!({})).await;
    cluster.pod("p", "db", "10.0.0.1").await;
    let db_waits = "workqueue_depth{name=\"endpoint_slice\"} 1\n";
    program.wait_for_page("/metrics", db_waits).await.unwrap();
    program.process.signal(Signal::TERM).unwrap();
    program.process.wait_for_output("asked to end").await.unwrap();
    hold.remove();
    let status = program.process.wait().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", program.process.output());
    let web = &cluster.slices("web").await[0];
    assert_eq!(web.metadata.labels.as_ref().unwrap()["asked-for"], "again");
    assert_eq!(cluster.slices("db").await.len(), 1);
}

/// T-WQ-08, T-WQ-09.
#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let (server, cluster) = server().await;
    let (program, _hold) = with_a_write_under_way(&server, &cluster).await;
    program.process.signal(Signal::INT).unwrap();
    program.process.wait_for_output("asked to end").await.unwrap();
    program.process.signal(Signal::TERM).unwrap();
    assert_eq!(program.process.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn it_can_be_ended_before_the_server_answers() {
    let (server, _) = server().await;
    server.faults.add(Rule::when(Match::default()).hold_request());
    let binary = TestProcess::start(PROGRAM, &[&server.flag()], &[]).unwrap();
    binary.wait_for_output("starting").await.unwrap();
    binary.signal(Signal::TERM).unwrap();
    assert_eq!(binary.wait().await.unwrap().code(), Some(0), "{}", binary.output());
}
