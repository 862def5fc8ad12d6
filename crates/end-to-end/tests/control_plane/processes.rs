//! Signals to etcd and kube-apiserver, and an older state of etcd.

use std::time::Duration;

use apisim::{faults::Rule, request::Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;
use slice_oracle::{Recorder, assert_clean};
use testenv::{ControllerProcess, Protocol, objects::create, until};
use tokio::time::{Instant, timeout};

use crate::{
    fixtures,
    harness::{Harness, PODS, SERVICE, config_of_both},
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

/// A restart is the change of leader that a single etcd can have.
pub(crate) async fn f13_a_restarted_etcd_causes_no_duplicate(protocol: Protocol) {
    let harness = Harness::start_restored("f13-restart", protocol).await;
    let creates = || Rule::on(Verb::Create, "endpointslices");
    let held = harness.faults().add(creates().hold_request());
    harness.put(&fixtures::service("restarted")).await;
    until("creates of slices", async || held.hits() > 0).await.unwrap();
    let etcd = harness.control_plane.etcd();
    etcd.kill().await.unwrap();
    held.remove();
    let tried_again = until("a second attempt", async || {
        harness.writes().values().sum::<usize>() > 2
    });
    let tried_again = tried_again.await;
    etcd.start().await.unwrap();
    let start = Instant::now();
    tried_again.unwrap();
    harness.wait_published("restarted", PODS).await;
    println!(
        "F13: published {:?} after etcd is back, {:?}",
        start.elapsed(),
        harness.writes()
    );
    assert_eq!(harness.slices_of("restarted").await.len(), 2);
    harness.put(&fixtures::pod(4)).await;
    for service in [SERVICE, "restarted"] {
        harness.wait_published(service, 1..=4).await;
    }
    assert_eq!(harness.slices_of("restarted").await.len(), 2);
    harness.finish().await;
}

/// Waits until a resource was listed again, because resourceVersions went back, or passed what the watch had seen (410 Gone).
async fn wait_for_relist(controller: &ControllerProcess, resource: &str) {
    let prefix = format!("lists_total{{resource=\"{resource}\",reason=\"");
    until(&format!("a relist of {resource}"), async || {
        let (_, metrics) = controller.get("/metrics").await.unwrap();
        let relists = metrics.lines().filter(|line| line.contains(&prefix));
        relists
            .into_iter()
            .any(|line| !line.contains("initial") && !line.ends_with(" 0"))
    })
    .await
    .unwrap();
}

pub(crate) async fn f14_an_older_etcd_is_noticed(protocol: Protocol) {
    let harness = Harness::start_restored("f14", protocol).await;
    // Both controllers at once: a restore takes long.
    harness.put_mirrored("mirrored", PODS).await;
    let mirroring = harness.start_mirroring_too().await;
    harness.wait_published("mirrored", PODS).await;
    let copy = harness.control_plane.copy_etcd().await.unwrap();
    harness.put(&fixtures::pod(4)).await;
    harness.replace_endpoints("mirrored", 1..=4).await;
    for service in [SERVICE, "mirrored"] {
        harness.wait_published(service, 1..=4).await;
    }
    // The newest objects, by which a restore is noticed, are lost.
    harness.put_mirrored("lost", PODS).await;
    harness.wait_published("lost", PODS).await;
    // More writes than the API server itself does when it starts.
    let maps: Api<ConfigMap> = Api::namespaced(harness.client.clone(), &harness.namespace);
    for number in 0..200 {
        let map = json!({"metadata": {"name": format!("lost-{number}")}});
        create(&maps, map).await.unwrap();
    }
    harness.control_plane.restore_etcd(&copy).await.unwrap();
    harness.delete_pod(1).await;
    harness.put(&fixtures::pod(5)).await;
    harness.replace_endpoints("mirrored", [2, 3, 5]).await;
    let start = Instant::now();
    let published = timeout(RESYNCED, async {
        // By chance, slices may be right before that.
        for (controller, inputs) in [(harness.controller(), "pods"), (&mirroring, "endpoints")] {
            for resource in [inputs, "endpointslices"] {
                wait_for_relist(controller, resource).await;
            }
        }
        println!("F14: noticed after {:?}", start.elapsed());
        for service in [SERVICE, "mirrored"] {
            harness.wait_published(service, [2, 3, 5]).await;
        }
    });
    let published = published.await;
    println!("F14: published after {:?}", start.elapsed());
    assert!(
        published.is_ok(),
        "not published within {RESYNCED:?}:\n{}\n{}",
        harness.controller().process.output(),
        mirroring.process.output()
    );
    // The versions of the first recorder are of another history.
    let recorder = Recorder::start_namespaced(harness.client.clone(), &harness.namespace)
        .await
        .unwrap();
    recorder.wait_quiescent(Duration::from_secs(2)).await.unwrap();
    let history = recorder.history().unwrap();
    assert_clean(&history, &config_of_both(), env!("CARGO_TARGET_TMPDIR"));
    mirroring.stop().await.unwrap();
    harness.stop().await;
}
