//! Objects that are recreated, changed by other writers, or invalid.

use std::{collections::BTreeMap, ops::RangeInclusive};

use apisim::{
    faults::{Match, Rule},
    request::Verb,
};
use k8s_openapi::api::core::v1::{Event, Service};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use testenv::{Protocol, Webhook, WebhookMode, objects::api, until};

use crate::{
    fixtures::{self, address},
    harness::{Harness, PODS, SERVICE, Tested},
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

/// One more than a slice can have.
const TOO_MANY_PORTS: u16 = 20_001;

fn ports(numbers: RangeInclusive<u16>) -> Vec<Value> {
    numbers
        .map(|number| json!({"name": format!("p{number}"), "port": number}))
        .collect()
}

/// Waits until an event of the namespace contains this text.
async fn wait_for_event(harness: &Harness, text: &str) {
    let events: Api<Event> = Api::namespaced(harness.client.clone(), &harness.namespace);
    until(&format!("an event with {text}"), async || {
        let events = events.list(&ListParams::default()).await.unwrap();
        let mut messages = events.items.iter().filter_map(|event| event.message.as_deref());
        messages.any(|message| message.contains(text))
    })
    .await
    .unwrap();
}

async fn patch(harness: &Harness, kind: &str, name: &str, patch: Value) {
    let api = api(&harness.client, &harness.namespace, kind).unwrap();
    let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.unwrap();
}

/// kube-apiserver rejects Services with two ports of one name or unknown protocols, address families and traffic distributions,
/// and pods with addresses that have a zone or cannot be parsed: unit tests have these.
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
    let mut unknown_phase = fixtures::pod(13);
    unknown_phase["status"]["phase"] = "Dreaming".into();
    harness.put(&unknown_phase).await;
    let mut many_ports = fixtures::service("many-ports");
    many_ports["spec"]["ports"] = ports(1..=TOO_MANY_PORTS).into();
    harness.put(&many_ports).await;
    harness.put(&fixtures::pod(4)).await;
    harness.wait_published(SERVICE, (1..=4).chain(10..=13)).await;
    wait_for_event(&harness, "fe80::a").await;
    wait_for_event(&harness, "20001 ports").await;
    let mut unknown_condition = fixtures::pod(14);
    unknown_condition["status"]["conditions"] = json!([{"type": "Ready", "status": "Perhaps"}]);
    harness.put(&unknown_condition).await;
    harness.wait_not_ready(SERVICE, 14).await;
    println!(
        "F25: {} events",
        harness.faults().count(&Match::writes().resource("events"))
    );
    assert!(harness.faults().count(&Match::writes().resource("events")) <= 5);
    // The Service is published once its ports fit.
    harness.delete_pod(14).await;
    patch(
        &harness,
        "Service",
        "many-ports",
        json!({"spec": {"ports": ports(1..=1)}}),
    )
    .await;
    harness.wait_published("many-ports", (1..=4).chain(10..=13)).await;
    harness.finish().await;
}

/// kube-apiserver rejects Endpoints with unknown protocols, invalid host names, and addresses that are link-local, have a zone or
/// cannot be parsed: unit tests have these.
pub(crate) async fn f25_invalid_endpoints_stop_no_stream(protocol: Protocol) {
    let harness = Harness::start_tested(Tested::Mirroring, "f25-mirroring", protocol).await;
    let invalid = [
        ("many-ports", "/subsets/0/ports", json!(ports(1..=TOO_MANY_PORTS))),
        (
            "same-names",
            "/subsets/0/ports",
            json!([{"name": "http", "port": 80}, {"name": "http", "port": 81}]),
        ),
        (
            "unknown-target",
            "/subsets/0/addresses/0/targetRef",
            json!({"kind": "Whale", "name": "w"}),
        ),
        ("other-form", "/subsets/0/addresses/3", json!({"ip": "FD00:0:0::1"})),
        (
            "trigger-time",
            "/metadata/annotations",
            json!({"endpoints.kubernetes.io/last-change-trigger-time": "yesterday"}),
        ),
        (
            "huge",
            "/metadata/annotations",
            json!({"example.com/huge": "x".repeat(250_000)}),
        ),
    ];
    for (name, pointer, value) in invalid {
        harness.put(&fixtures::service_without_selector(name)).await;
        let mut endpoints = fixtures::endpoints(name, PODS);
        let change = json_patch::AddOperation {
            path: pointer.try_into().unwrap(),
            value,
        };
        json_patch::patch(&mut endpoints, &[json_patch::PatchOperation::Add(change)]).unwrap();
        harness.put(&endpoints).await;
    }
    harness.add_endpoint(4, &[SERVICE]).await;
    harness.wait_published(SERVICE, 1..=4).await;
    for name in ["unknown-target", "trigger-time", "huge"] {
        harness.wait_published(name, PODS).await;
    }
    until("the other form of an address", async || {
        let slices = harness.slices_of("other-form").await;
        let mut endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
        endpoints.any(|endpoint| endpoint.addresses[0] == "fd00::1")
    })
    .await
    .unwrap();
    until("one slice for each port of one name", async || {
        harness.slices_of("same-names").await.len() == 2
    })
    .await
    .unwrap();
    wait_for_event(&harness, "20001 ports").await;
    println!(
        "F25: {} events",
        harness.faults().count(&Match::writes().resource("events"))
    );
    assert!(harness.faults().count(&Match::writes().resource("events")) <= 5);
    for name in ["many-ports", "same-names"] {
        harness.replace_endpoints(name, PODS).await;
        harness.wait_published(name, PODS).await;
    }
    harness.finish().await;
}
