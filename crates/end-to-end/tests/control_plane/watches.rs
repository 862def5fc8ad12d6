//! Lists and watches that break, stall or expire.

use apisim::{
    faults::{Match, Rule, StreamFault},
    request::Verb,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;
use testenv::{Protocol, objects::create, until};

use crate::{
    fixtures,
    harness::{Harness, SERVICE, Tested},
};

pub(crate) const WATCHED: [&str; 4] = ["endpointslices", "nodes", "pods", "services"];

pub(crate) async fn f8_a_cut_watch_is_resumed_without_a_list(protocol: Protocol) {
    let harness = Harness::start("f08", protocol).await;
    for resource in WATCHED {
        let cut = Rule::on(Verb::Watch, resource).times(1).stream(StreamFault::Cut);
        harness.faults().add(cut);
    }
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    let rule = Rule::on(Verb::Watch, "pods").times(1).stream(StreamFault::CutMidEvent);
    let cut = harness.faults().add(rule);
    harness.put(&fixtures::pod(5)).await;
    harness.wait_published(SERVICE, 1..=5).await;
    assert_eq!(cut.hits(), 1);
    println!("F8: {} lists", harness.lists());
    assert_eq!(harness.lists(), 0);
    harness.finish().await;
}

pub(crate) async fn f10_no_write_before_every_cache_is_synced(protocol: Protocol) {
    let mut harness = Harness::start("f10", protocol).await;
    harness.stop_controller().await;
    // Slices of both Services are to be written.
    harness.put(&fixtures::pod(4)).await;
    harness.put(&fixtures::service("new")).await;
    harness.faults().clear_log();
    let held = harness
        .faults()
        .add(Rule::on(Verb::Watch, "pods").stream(StreamFault::Hold));
    harness.start_controller().await;
    for resource in ["endpointslices", "nodes", "services"] {
        let line = format!("[+]{resource} ok");
        harness
            .controller()
            .wait_for_page("/readyz?verbose", &line)
            .await
            .unwrap();
    }
    harness.wait_quiescent().await;
    assert!(held.hits() > 0);
    assert_eq!(harness.faults().count(&Match::writes().resource("endpointslices")), 0);
    held.remove();
    for service in [SERVICE, "new"] {
        harness.wait_published(service, 1..=4).await;
    }
    harness.finish().await;
}

pub(crate) async fn f11_a_relist_of_unchanged_objects_writes_nothing(protocol: Protocol) {
    f11(Tested::Services, "f11", &WATCHED, &WATCHED, protocol).await;
}

pub(crate) async fn f11_a_relist_of_unchanged_endpoints_writes_nothing(protocol: Protocol) {
    // Slices are watched twice.
    let watched = ["endpoints", "endpointslices", "endpointslices", "services"];
    let names = ["endpoints", "endpointslices", "pod slices", "services"];
    f11(Tested::Mirroring, "f11-mirroring", &watched, &names, protocol).await;
}

/// `names` are those of the watches in the log.
async fn f11(tested: Tested, row: &str, watched: &[&str], names: &[&str], protocol: Protocol) {
    let harness = Harness::start_tested(tested, row, protocol).await;
    for resource in watched {
        let faults = harness.faults();
        faults.add(Rule::on(Verb::Watch, resource).times(1).answer(410));
        faults.add(Rule::on(Verb::Watch, resource).times(1).stream(StreamFault::Cut));
    }
    harness.controller().wait_for_relist(names).await.unwrap();
    until("the end of all relists", async || harness.lists() >= watched.len())
        .await
        .unwrap();
    harness.wait_quiescent().await;
    assert_eq!(harness.writes().len(), 0);
    // A controller that publishes a new object has completed the relists.
    harness.add_endpoint(4, &[SERVICE]).await;
    harness.wait_published(SERVICE, 1..=4).await;
    assert_eq!(harness.faults().count(&Match::writes().resource("endpointslices")), 1);
    harness.finish().await;
}

/// etcd is compacted while the watches are closed, so that the real server answers 410 Gone (F13 as well).
pub(crate) async fn f11_a_compaction_causes_a_relist_without_writes(protocol: Protocol) {
    // Without a watch cache: it would serve the compacted versions.
    let harness = Harness::start_disrupted("f11-compaction", protocol).await;
    let mut held = Vec::new();
    for resource in WATCHED {
        held.push(harness.faults().add(Rule::on(Verb::Watch, resource).hold_request()));
        harness
            .faults()
            .add(Rule::on(Verb::Watch, resource).times(1).stream(StreamFault::Cut));
    }
    until("held watches", async || held.iter().all(|held| held.hits() > 0))
        .await
        .unwrap();
    // The compacted version is later than the one that the watches continue with.
    let maps: Api<ConfigMap> = Api::namespaced(harness.client.clone(), &harness.namespace);
    for number in 0..3 {
        let map = json!({"metadata": {"name": format!("later-{number}")}});
        create(&maps, map).await.unwrap();
    }
    let compacted = harness.control_plane.compact_etcd().await.unwrap();
    for held in held {
        held.remove();
    }
    harness.controller().wait_for_relist(&WATCHED).await.unwrap();
    until("the end of all relists", async || {
        let positions = harness.positions().await;
        positions
            .values()
            .all(|version| i64::try_from(*version).unwrap() >= compacted)
    })
    .await
    .unwrap();
    harness.wait_quiescent().await;
    println!(
        "F11: {} lists after a compaction, writes {:?}",
        harness.lists(),
        harness.writes()
    );
    assert_eq!(harness.lists(), WATCHED.len());
    assert_eq!(harness.writes().len(), 0);
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    harness.finish().await;
}

pub(crate) async fn f16_a_held_stream_causes_no_flap(protocol: Protocol) {
    let harness = Harness::start("f16", protocol).await;
    let hold_stream = |resource| {
        let rule = Rule::on(Verb::Watch, resource).stream(StreamFault::Hold);
        harness.faults().add(rule)
    };
    let held = hold_stream("endpointslices");
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    harness.delete_pod(1).await;
    harness.wait_published(SERVICE, 2..=4).await;
    harness.wait_quiescent().await;
    let before = harness.writes();
    held.remove();
    harness.wait_quiescent().await;
    assert_eq!(harness.writes(), before);

    let held = hold_stream("pods");
    harness.put(&fixtures::service("other")).await;
    harness.wait_published("other", 2..=4).await;
    harness.put(&fixtures::pod(5)).await;
    held.remove();
    for service in [SERVICE, "other"] {
        harness.wait_published(service, 2..=5).await;
    }

    let held = hold_stream("nodes");
    let node = harness.namespace.clone();
    harness.put(&fixtures::node(&node)).await;
    let mut pod = fixtures::pod(6);
    pod["spec"]["nodeName"] = node.into();
    harness.put(&pod).await;
    harness.put(&fixtures::pod(7)).await;
    harness.wait_published(SERVICE, (2..=5).chain([7])).await;
    held.remove();
    harness.wait_published(SERVICE, 2..=7).await;
    assert_eq!(harness.lists(), 0);
    harness.finish().await;
}
