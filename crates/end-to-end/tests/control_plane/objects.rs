//! Objects that are recreated, changed by other writers, or invalid.

use std::collections::BTreeMap;

use apisim::{
    faults::{Match, Rule},
    request::Verb,
};
use k8s_openapi::api::core::v1::{Event, Service};
use kube::{Api, api::ListParams};
use serde_json::json;
use testenv::{Protocol, Webhook, WebhookMode, until};

use crate::{
    fixtures::{self, address},
    harness::{Harness, PODS, SERVICE},
};

pub(crate) async fn f23_a_recreated_service_gets_slices_of_its_own(protocol: Protocol) {
    let harness = Harness::start("f23", protocol).await;
    // It deletes the slices of the first Service.
    let collector = ["garbage-collector-controller"];
    let _manager = harness.control_plane.controller_manager(&collector, &[]).await.unwrap();
    let held = harness
        .faults()
        .add(Rule::on(Verb::Create, "endpointslices").hold_request());
    harness.put(&fixtures::service("again")).await;
    until("creates of slices", async || held.hits() > 0).await.unwrap();
    harness.delete("Service", "again").await;
    harness.put(&fixtures::service("again")).await;
    held.remove();
    let services: Api<Service> = Api::namespaced(harness.client.clone(), &harness.namespace);
    let uid = services.get("again").await.unwrap().metadata.uid.unwrap();
    until("slices of the second Service only", async || {
        let slices = harness.slices_of("again").await;
        let owners = slices
            .iter()
            .flat_map(|slice| slice.metadata.owner_references.iter().flatten());
        slices.len() == 2 && owners.into_iter().all(|owner| owner.uid == uid)
    })
    .await
    .unwrap();
    harness.wait_published("again", PODS).await;
    harness.finish().await;
}

pub(crate) async fn f24_a_foreign_change_is_repaired_by_one_write(protocol: Protocol) {
    let harness = Harness::start("f24", protocol).await;
    for repairs in 1..=3 {
        let mut slice = harness.slices_of(SERVICE).await.remove(0);
        for endpoint in slice.endpoints.iter_mut().flatten() {
            endpoint.conditions.get_or_insert_default().ready = Some(false);
        }
        harness.patch_slice(&slice, json!({"endpoints": slice.endpoints})).await;
        harness.wait_published(SERVICE, PODS).await;
        harness.wait_quiescent().await;
        assert_eq!(harness.writes(), BTreeMap::from([((Verb::Update, 200), repairs)]));
    }
    harness.faults().clear_log();
    let webhook = Webhook::mutating(harness.control_plane, &harness.namespace)
        .await
        .unwrap();
    webhook.set_mode(WebhookMode::set_label("example.com/webhook", "added"));
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, 1..=4).await;
    harness.wait_quiescent().await;
    println!("F24: {:?} for one change", harness.writes());
    assert_eq!(harness.writes(), BTreeMap::from([((Verb::Update, 200), 1)]));
    // The next change of each slice removes the label.
    webhook.set_mode(WebhookMode::Allow);
    for number in 1..=4 {
        harness.delete_pod(number).await;
    }
    harness.finish().await;
}

pub(crate) async fn f24_rewritten_labels_cause_no_hot_loop(protocol: Protocol) {
    let harness = Harness::start("f24-labels", protocol).await;
    let webhook = Webhook::mutating(harness.control_plane, &harness.namespace)
        .await
        .unwrap();
    webhook.set_mode(WebhookMode::set_label("kubernetes.io/service-name", "rewritten"));
    harness.put(&fixtures::service("labels")).await;
    until("a rewritten slice", async || {
        !harness.slices_of("rewritten").await.is_empty()
    })
    .await
    .unwrap();
    // The retry does not create another slice to find out whether labels are still rewritten.
    until("a dry run", async || {
        let requests = harness.faults().requests(&Match::default());
        requests.iter().any(|request| request.query.contains("dryRun=All"))
    })
    .await
    .unwrap();
    let slices = harness.slices_of("rewritten").await.len();
    println!("F24: {slices} slices, writes {:?}", harness.writes());
    webhook.set_mode(WebhookMode::Allow);
    harness.wait_published("labels", PODS).await;
    // Two are planned at once, then at most one write per 10 s.
    assert!(slices <= 3, "{slices} slices of one Service");
    harness.stop().await;
}

pub(crate) async fn f25_invalid_objects_stop_no_stream(protocol: Protocol) {
    let harness = Harness::start("f25", protocol).await;
    let mut both = fixtures::service("both");
    both["spec"]["ipFamilyPolicy"] = "RequireDualStack".into();
    harness.put(&both).await;
    // A link-local address cannot be published.
    let mut link_local = fixtures::pod(10);
    link_local["status"]["podIPs"] = json!([{"ip": address(10)}, {"ip": "fe80::a"}]);
    harness.put(&link_local).await;
    let mut same_names = fixtures::pod(11);
    let port = |number: u16| json!([{"name": "http", "containerPort": number}]);
    same_names["spec"]["containers"] = json!([
        {"name": "main", "image": "main", "ports": port(8080)},
        {"name": "second", "image": "main", "ports": port(8081)},
    ]);
    harness.put(&same_names).await;
    let mut huge = fixtures::pod(12);
    huge["metadata"]["annotations"] = json!({"example.com/huge": "x".repeat(250_000)});
    harness.put(&huge).await;
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, (1..=4).chain(10..=12)).await;
    let events: Api<Event> = Api::namespaced(harness.client.clone(), &harness.namespace);
    until("an event for the invalid address", async || {
        let events = events.list(&ListParams::default()).await.unwrap();
        events
            .items
            .iter()
            .any(|event| event.message.as_deref().is_some_and(|text| text.contains("fe80::a")))
    })
    .await
    .unwrap();
    assert!(harness.faults().count(&Match::writes().resource("events")) <= 5);
    harness.finish().await;
}
