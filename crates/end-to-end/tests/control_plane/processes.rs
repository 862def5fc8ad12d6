//! Signals to etcd and kube-apiserver, and an older state of etcd.

use std::time::Duration;

use apisim::{faults::Rule, request::Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;
use slice_oracle::{Recorder, assert_clean};
use testenv::{Protocol, objects::create, until};
use tokio::time::{Instant, timeout};

use crate::{
    fixtures,
    harness::{Harness, PODS, SERVICE, config},
};

/// Pings fail after 12 s (HTTP/2), a watch is overdue after 13 s (HTTP/1.1).
const NOTICED: Duration = Duration::from_secs(20);
/// The most connections per second to a server that comes back.
const RECONNECTS_MAX: usize = 20;
/// Changes after an etcd that went back are published within this time.
const RESYNCED: Duration = Duration::from_secs(60);

pub(crate) async fn f9_a_stopped_api_server_is_survived(protocol: Protocol) {
    let mut harness = Harness::start_disrupted("f09-stopped", protocol).await;
    harness.restart_without_proxy().await;
    let apiserver = harness.control_plane.apiserver();
    apiserver.freeze().await.unwrap();
    // The log and /readyz report it, because no watch can be opened.
    let start = Instant::now();
    let noticed = timeout(NOTICED, async {
        let errors = async || {
            let (_, page) = harness.controller().get("/readyz?verbose").await.unwrap();
            page.contains("error") || page.contains("[-]")
        };
        until("an error in /readyz?verbose", errors).await.unwrap();
    });
    let noticed = noticed.await;
    println!("F9: a stopped API server is in /readyz after {:?}", start.elapsed());
    apiserver.thaw().unwrap();
    assert!(noticed.is_ok(), "{}", harness.controller().process.output());
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    harness.finish().await;
}

pub(crate) async fn f12_a_killed_api_server_is_survived(protocol: Protocol) {
    let harness = Harness::start_disrupted("f12-killed", protocol).await;
    let start = Instant::now();
    let apiserver = harness.control_plane.apiserver();
    apiserver.kill().await.unwrap();
    apiserver.start().await.unwrap();
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    let reconnects = harness.connections_per_second(start);
    println!("F12: at most {reconnects} connections/s after kill -9");
    assert!(reconnects <= RECONNECTS_MAX, "{reconnects} connections within a second");
    harness.finish().await;
}

pub(crate) async fn f13_a_stalled_etcd_causes_no_duplicate(protocol: Protocol) {
    let harness = Harness::start_disrupted("f13", protocol).await;
    let creates = || Rule::on(Verb::Create, "endpointslices");
    let held = harness.faults().add(creates().hold_request());
    harness.put(&fixtures::service("stalled")).await;
    until("creates of slices", async || held.hits() > 0).await.unwrap();
    let etcd = harness.control_plane.etcd();
    etcd.freeze().await.unwrap();
    held.remove();
    // The creates are in etcd's queue when the client gives up and tries again.
    let given_up = until("a second attempt", async || {
        harness.writes().values().sum::<usize>() > 2
    });
    let given_up = given_up.await;
    etcd.thaw().unwrap();
    given_up.unwrap();
    harness.wait_published("stalled", PODS).await;
    assert_eq!(harness.slices_of("stalled").await.len(), 2);
    println!("F13: {:?}", harness.writes());
    harness.finish().await;
}

pub(crate) async fn f14_an_older_etcd_is_noticed(protocol: Protocol) {
    let harness = Harness::start_restored("f14", protocol).await;
    let copy = harness.control_plane.copy_etcd().await.unwrap();
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    // More writes than the API server itself does when it starts.
    let maps: Api<ConfigMap> = Api::namespaced(harness.client.clone(), &harness.namespace);
    for number in 0..200 {
        let map = json!({"metadata": {"name": format!("lost-{number}")}});
        create(&maps, map).await.unwrap();
    }
    harness.control_plane.restore_etcd(&copy).await.unwrap();
    harness.delete_pod(1).await;
    harness.put(&fixtures::pod(5)).await;
    let start = Instant::now();
    let published = timeout(RESYNCED, async {
        // By chance, slices may be right before that.
        for resource in ["pods", "endpointslices"] {
            let list = format!("lists_total{{resource=\"{resource}\",reason=\"epoch\"}} 1");
            harness.controller().wait_for_page("/metrics", &list).await.unwrap();
        }
        println!("F14: noticed after {:?}", start.elapsed());
        harness.wait_published(SERVICE, [2, 3, 5]).await;
    });
    let published = published.await;
    println!("F14: published after {:?}", start.elapsed());
    assert!(
        published.is_ok(),
        "not published within {RESYNCED:?}:\n{}",
        harness.controller().process.output()
    );
    // The versions of the first recorder are of another history.
    let recorder = Recorder::start_namespaced(harness.client.clone(), &harness.namespace)
        .await
        .unwrap();
    recorder.wait_quiescent(Duration::from_secs(2)).await.unwrap();
    assert_clean(&recorder.history().unwrap(), &config(), env!("CARGO_TARGET_TMPDIR"));
    harness.stop().await;
}
