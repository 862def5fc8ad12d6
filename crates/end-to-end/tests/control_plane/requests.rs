//! Rejected writes and lost answers.

use std::{collections::BTreeMap, time::Duration};

use apisim::{
    faults::{Answer, Match, Rule, RuleHandle, StreamFault},
    request::Verb,
};
use http::header::RETRY_AFTER;
use k8s_openapi::api::{
    core::v1::{Namespace, Pod},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;
use testenv::{Protocol, Webhook, WebhookMode, until};
use tokio::time::{Instant, timeout};

use crate::{
    fixtures,
    harness::{Harness, PODS, SERVICE, Tested, slice_writes},
};

/// Services that are due at the same time.
const MANY: usize = 60;
/// Healed within one step of the backoff, which is capped at this, whatever the value of `retryAfterSeconds`.
const HEALED: Duration = Duration::from_secs(60);
/// Requests per second to a server that answers 429.
const RATE_MAX: usize = 20;

/// Holds the watch of slices, so that the controller does not see the writes of others.
fn hold_slices(harness: &Harness) -> RuleHandle {
    let rule = Rule::on(Verb::Watch, "endpointslices").stream(StreamFault::Hold);
    harness.faults().add(rule)
}

pub(crate) async fn f1_a_conflict_is_resolved_by_two_writes(protocol: Protocol) {
    f1(Tested::Services, "f01", protocol).await;
}

pub(crate) async fn f1_a_conflict_of_mirroring_is_resolved_by_two_writes(protocol: Protocol) {
    f1(Tested::Mirroring, "f01-mirroring", protocol).await;
}

async fn f1(tested: Tested, row: &str, protocol: Protocol) {
    let harness = Harness::start_tested(tested, row, protocol).await;
    let held = hold_slices(&harness);
    for slice in harness.slices_of(SERVICE).await {
        let foreign = json!({"metadata": {"annotations": {"example.com/foreign": "kept"}}});
        harness.patch_slice(&slice, foreign).await;
    }
    harness.add_endpoint(4, &[SERVICE]).await;
    harness.wait_published(SERVICE, 1..=4).await;
    held.remove();
    harness.wait_quiescent().await;
    let expected = BTreeMap::from([((Verb::Update, 409), 1), ((Verb::Update, 200), 1)]);
    assert_eq!(harness.writes(), expected);
    // Mirrored slices have the annotations of the Endpoints only.
    if tested == Tested::Services {
        for slice in harness.slices_of(SERVICE).await {
            assert_eq!(slice.metadata.annotations.unwrap()["example.com/foreign"], "kept");
        }
    }
    harness.finish().await;
}

pub(crate) async fn f2_a_deleted_slice_is_recreated(protocol: Protocol) {
    let harness = Harness::start("f02", protocol).await;
    let held = hold_slices(&harness);
    for slice in harness.slices_of(SERVICE).await {
        harness.delete_slice(&slice).await;
    }
    harness.put(&fixtures::pod(4)).await;
    // The slice that is not updated is recreated when the deletion is received.
    until("the update of the deleted slice", async || {
        harness.writes().contains_key(&(Verb::Update, 404))
    })
    .await
    .unwrap();
    until("a new slice", async || !harness.slices_of(SERVICE).await.is_empty())
        .await
        .unwrap();
    held.remove();
    harness.wait_published(SERVICE, 1..=4).await;
    harness.wait_quiescent().await;
    let expected = BTreeMap::from([((Verb::Update, 404), 1), ((Verb::Create, 201), 2)]);
    assert_eq!(harness.writes(), expected);
    harness.finish().await;
}

pub(crate) async fn f3_a_deleted_slice_needs_no_deletion(protocol: Protocol) {
    let harness = Harness::start("f03", protocol).await;
    let held = hold_slices(&harness);
    let slices = harness.slices_of(SERVICE).await;
    let endpoints = |slice: &&EndpointSlice| slice.endpoints.as_ref().map_or(0, Vec::len);
    let smallest = slices.iter().min_by_key(endpoints).unwrap();
    let name = smallest.endpoints.as_ref().unwrap()[0]
        .target_ref
        .clone()
        .unwrap()
        .name
        .unwrap();
    harness.delete_slice(smallest).await;
    // A deletion would be two changes: the pod terminates first.
    let pods: Api<Pod> = Api::namespaced(harness.client.clone(), &harness.namespace);
    let leave = Patch::Merge(json!({"metadata": {"labels": {"app": "other"}}}));
    pods.patch(&name, &PatchParams::default(), &leave).await.unwrap();
    until("the deletion of the empty slice", async || {
        harness.writes().contains_key(&(Verb::Delete, 404))
    })
    .await
    .unwrap();
    held.remove();
    harness.wait_quiescent().await;
    assert_eq!(harness.writes(), BTreeMap::from([((Verb::Delete, 404), 1)]));
    let (_, metrics) = harness.controller().get("/metrics").await.unwrap();
    let is_error =
        |line: &&str| line.starts_with("endpoint_slice_controller_syncs{result=\"error\"") && !line.ends_with(" 0");
    assert_eq!(metrics.lines().filter(is_error).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(harness.faults().count(&Match::writes().resource("events")), 0);
    harness.finish().await;
}

pub(crate) async fn f5_a_denied_write_heals_one_step_after_the_repair(protocol: Protocol) {
    let harness = Harness::start("f05", protocol).await;
    let webhook = Webhook::validating(harness.control_plane, &harness.namespace)
        .await
        .unwrap();
    let before = webhook.requests();
    webhook.set_mode(WebhookMode::Deny {
        code: 403,
        message: "exceeded quota".to_owned(),
        retry_after_seconds: Some(86_400),
    });
    harness.put(&fixtures::pod(4)).await;
    until("three denied writes", async || webhook.requests() >= before + 3)
        .await
        .unwrap();
    webhook.set_mode(WebhookMode::Allow);
    let start = Instant::now();
    let healed = timeout(HEALED, harness.wait_published(SERVICE, 1..=4)).await;
    assert!(healed.is_ok(), "not published within {HEALED:?}");
    let elapsed = start.elapsed();
    harness.wait_quiescent().await;
    let writes = harness.writes();
    println!(
        "F5: healed after {elapsed:?}, {writes:?}, at most {}/s",
        harness.faults().peak_per_second(&slice_writes())
    );
    assert_eq!(writes[&(Verb::Update, 200)], 1);
    assert!(writes[&(Verb::Update, 403)] <= 4, "{writes:?}");
    assert!(harness.faults().peak_per_second(&slice_writes()) <= 2);
    harness.finish().await;
}

pub(crate) async fn f6_retry_after_is_honoured_without_a_relist(protocol: Protocol) {
    let harness = Harness::start("f06", protocol).await;
    let rejected = Answer::status(429).header(RETRY_AFTER, 1.into());
    let rule = harness.faults().add(Rule::when(slice_writes()).answer(rejected));
    let services: Vec<String> = (0..MANY).map(|number| format!("service-{number}")).collect();
    for service in &services {
        harness.put(&fixtures::service(service)).await;
    }
    // More than one second's worth: the gate opens several times.
    until("rejected writes", async || rule.hits() > 10).await.unwrap();
    let rate = harness.faults().peak_per_second(&slice_writes());
    println!("F6: at most {rate} requests/s");
    rule.remove();
    for service in &services {
        harness.wait_published(service, 1..=3).await;
    }
    assert_eq!(harness.lists(), 0);
    assert!(rate <= RATE_MAX, "{rate} requests/s to a server that answers 429");
    harness.finish().await;
}

pub(crate) async fn f7_lost_answers_leave_no_duplicate(protocol: Protocol) {
    f7(Tested::Services, "f07", protocol).await;
}

pub(crate) async fn f7_lost_answers_to_mirroring_leave_no_duplicate(protocol: Protocol) {
    f7(Tested::Mirroring, "f07-mirroring", protocol).await;
}

async fn f7(tested: Tested, row: &str, protocol: Protocol) {
    let slices = match tested {
        Tested::Services => 2,
        // One per subset.
        Tested::Mirroring => 1,
    };
    let harness = Harness::start_tested(tested, row, protocol).await;
    // The watch does not show the slice either, so the create is repeated.
    let held = hold_slices(&harness);
    let creates = Rule::on(Verb::Create, "endpointslices").times(1);
    let lost = harness.faults().add(creates.drop_answer());
    harness.put_service("lost", PODS).await;
    until("a repeated create", async || {
        harness.writes().contains_key(&(Verb::Create, 409))
    })
    .await
    .unwrap();
    harness.wait_published("lost", PODS).await;
    held.remove();
    harness.wait_quiescent().await;
    assert_eq!(lost.hits(), 1);
    assert_eq!(harness.slices_of("lost").await.len(), slices);
    let posts = harness
        .faults()
        .count(&Match::verb(Verb::Create).resource("endpointslices"));
    println!("F7: {posts} POSTs for {slices} slices");
    assert!(posts <= slices + 1, "{posts} POSTs");
    let writes = || Rule::when(slice_writes()).times(1);
    let faults = [
        writes().answer(500),
        writes().answer(503),
        writes().answer(504),
        writes().drop_request(),
        writes().drop_answer(),
        writes().drop_answer(),
    ];
    for (number, fault) in (4..).zip(faults) {
        let rule = harness.faults().add(fault);
        harness.add_endpoint(number, &[SERVICE, "lost"]).await;
        for service in [SERVICE, "lost"] {
            harness.wait_published(service, 1..=number).await;
        }
        assert_eq!(rule.hits(), 1, "fault {number}");
        rule.remove();
    }
    assert!(!harness.writes().keys().any(|(verb, _)| *verb == Verb::Delete));
    harness.finish().await;
}

pub(crate) async fn f22_a_terminating_namespace_causes_no_retries(protocol: Protocol) {
    let harness = Harness::start("f22", protocol).await;
    let namespaces: Api<Namespace> = Api::all(harness.client.clone());
    // No controller removes the namespace, so it stays terminating.
    namespaces
        .delete(&harness.namespace, &DeleteParams::default())
        .await
        .unwrap();
    for slice in harness.slices_of(SERVICE).await {
        harness.delete_slice(&slice).await;
    }
    until("a rejected create", async || {
        harness.writes().contains_key(&(Verb::Create, 403))
    })
    .await
    .unwrap();
    harness.wait_quiescent().await;
    harness.wait_quiescent().await;
    let writes = harness.writes();
    println!("F22: {writes:?}");
    let creates: usize = writes.values().sum();
    // One attempt per slice.
    assert!(creates <= 2, "{writes:?}");
    harness.stop().await;
}
