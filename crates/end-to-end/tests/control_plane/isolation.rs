//! Writes of some Services that hang or are denied by a webhook, while others change.

use std::{collections::BTreeMap, time::Duration};

use apisim::request::Verb;
use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::{Recorder, assert_clean};
use testenv::{Protocol, Webhook, WebhookMode, until};
use tokio::time::{Instant, timeout};

use crate::{
    fixtures::{self, pod_name},
    harness::{Harness, PODS, SERVICE, Tested, config, slice_writes},
};

/// Services whose writes hang.
const MANY: usize = 60;
/// Hanging writes of one namespace after which its other keys wait: more than there are slots.
const HANGING: usize = 16;
/// How long a test waits for the Services that are not concerned. The webhook hangs for longer.
const OTHERS: Duration = Duration::from_secs(10);

pub(crate) async fn f4_hanging_writes_of_many_services_do_not_stop_others(protocol: Protocol) {
    let harness = Harness::start_for_all_namespaces("f04", protocol).await;
    let hanging = format!("{}-hanging", harness.namespace);
    harness
        .put(&json!({"kind": "Namespace", "metadata": {"name": hanging}}))
        .await;
    let recorder = Recorder::start_namespaced(harness.client.clone(), &hanging)
        .await
        .unwrap();
    let webhook = Webhook::validating(harness.control_plane, &hanging).await.unwrap();
    webhook.set_mode(WebhookMode::Hang);
    let before = webhook.requests();
    for number in 0..MANY {
        let service = fixtures::service(&format!("service-{number}"));
        harness.put_in(&hanging, &service).await;
    }
    until("hanging writes", async || webhook.requests() >= before + HANGING)
        .await
        .unwrap();

    let start = Instant::now();
    set_not_ready(&harness, 1).await;
    let published = timeout(OTHERS, harness.wait_not_ready(SERVICE, 1)).await;
    let writes = slice_writes().namespace(&hanging);
    println!(
        "F4: published after {:?}, {} writes hang",
        start.elapsed(),
        harness.faults().count(&writes)
    );
    assert!(
        published.is_ok(),
        "not published within {OTHERS:?}:\n{}",
        harness.controller().process.output()
    );
    let statuses = harness.faults().count_by_status(&writes);
    assert!(statuses.keys().all(Option::is_none), "{statuses:?}");

    webhook.set_mode(WebhookMode::Allow);
    let slices: Api<EndpointSlice> = Api::namespaced(harness.client.clone(), &hanging);
    until("slices of all Services", async || {
        slices.list(&ListParams::default()).await.unwrap().items.len() >= MANY
    })
    .await
    .unwrap();
    recorder.wait_quiescent(Duration::from_secs(2)).await.unwrap();
    let history = recorder.history().unwrap();
    assert_clean(&history, &config(Tested::Services), env!("CARGO_TARGET_TMPDIR"));
    harness.finish().await;
}

async fn set_not_ready(harness: &Harness, pod: usize) {
    let pods: Api<Pod> = Api::namespaced(harness.client.clone(), &harness.namespace);
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let patch = Patch::Strategic(status);
    pods.patch_status(&pod_name(pod), &PatchParams::default(), &patch)
        .await
        .unwrap();
}

pub(crate) async fn f4_a_denied_service_does_not_stop_others(protocol: Protocol) {
    let harness = Harness::start("f04-denied", protocol).await;
    harness.put(&fixtures::service("denied")).await;
    harness.wait_published("denied", PODS).await;
    let webhook = Webhook::validating(harness.control_plane, &harness.namespace)
        .await
        .unwrap();
    harness.wait_quiescent().await;
    harness.faults().clear_log();
    for (number, code) in (4..).zip([403, 422]) {
        let denial = WebhookMode::Deny {
            code,
            message: "denied by a test".to_owned(),
            retry_after_seconds: None,
        };
        webhook.set_mode(denial.for_service("denied"));
        harness.put(&fixtures::pod(number)).await;
        let published = timeout(OTHERS, harness.wait_published(SERVICE, 1..=number)).await;
        assert!(published.is_ok(), "not published within {OTHERS:?}");
        until("a denied write", async || {
            harness.writes().keys().any(|(_, status)| *status == code)
        })
        .await
        .unwrap();
    }
    harness.wait_quiescent().await;
    harness.wait_published("denied", PODS).await;
    let others: Vec<_> = harness.faults().requests(&slice_writes());
    let mut writes = BTreeMap::new();
    for write in others {
        let is_denied = write.request.name.is_some_and(|name| name.starts_with("denied-"));
        let status = write.status.map_or(0, |status| status.as_u16());
        *writes.entry((is_denied, write.request.verb, status)).or_insert(0) += 1;
    }
    println!("F4: writes by (is denied, verb, status): {writes:?}");
    writes.retain(|(is_denied, ..), _| !is_denied);
    let expected = [((false, Verb::Create, 201), 1), ((false, Verb::Update, 200), 1)];
    assert_eq!(writes, BTreeMap::from(expected));
    webhook.set_mode(WebhookMode::Allow);
    harness.wait_published("denied", 1..=5).await;
    harness.finish().await;
}
