//! The permissions of the manifests against the requests that the controllers send.

use std::collections::BTreeSet;

use apisim::{
    faults::{Answer, Match, Rule},
    request::Verb,
};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::DynamicObject;
use manifests::{Controller, Options};
use testenv::{Credentials, Protocol, SecureClient, free_port, until};

use crate::harness::{Harness, PODS, SERVICE, Tested};

/// Any user may review their own permissions, without a rule of ours.
const FOR_ALL_USERS: &str = "authorization.k8s.io selfsubjectaccessreviews create";

/// Not requests: with the admission plugin that all tests turn on, writes of slices with an owner need it.
const CHECKED_BY_ADMISSION: &str = "/finalizers update";

#[tokio::test]
async fn every_permission_of_the_endpointslice_controller_is_used() {
    let watched = ["endpointslices", "nodes", "pods", "services"];
    play(Tested::Services, Controller::EndpointSlice, &watched).await;
}

#[tokio::test]
async fn every_permission_of_the_mirroring_controller_is_used() {
    let watched = ["endpoints", "endpointslices", "services"];
    play(Tested::Mirroring, Controller::Mirroring, &watched).await;
}

/// Provokes every kind of request, and compares the record of the proxy with the rules.
async fn play(tested: Tested, controller: Controller, watched: &[&str]) {
    let port = free_port().unwrap();
    let arguments = vec![
        "--leader-elect=true".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
    ];
    let row = format!("permissions-{tested:?}").to_lowercase();
    let mut harness = Harness::prepare(tested, &row, Protocol::Http2, arguments).await;
    // Without streaming lists, the lists are pages.
    let streams = watched
        .iter()
        .map(|resource| Rule::on(Verb::Watch, resource).times(1).answer(400));
    let _streams: Vec<_> = streams.map(|rule| harness.faults().add(rule)).collect();
    harness.start_controller().await;
    harness.wait_published(SERVICE, PODS).await;
    let _conflict = harness
        .faults()
        .add(Rule::on(Verb::Update, "endpointslices").times(1).answer(409));
    harness.add_endpoint(4, &[SERVICE]).await;
    harness.wait_published(SERVICE, 1..=4).await;
    record_events(&harness).await;
    scrape(&harness, tested, port).await;
    match tested {
        Tested::Services => {
            for number in 2..=5 {
                harness.delete_pod(number).await;
            }
        }
        Tested::Mirroring => harness.delete("Endpoints", SERVICE).await,
    }
    until("the deletion of a slice", async || {
        harness.faults().count(&Match::verb(Verb::Delete)) > 0
    })
    .await
    .unwrap();

    let mut requests: BTreeSet<String> = harness
        .faults()
        .requests(&Match::default())
        .into_iter()
        .map(|recorded| {
            let request = recorded.request;
            format!("{} {} {:?}", request.group, request.resource, request.verb).to_lowercase()
        })
        .collect();
    requests.remove(FOR_ALL_USERS);
    assert_eq!(requests, permissions(controller));
    harness.stop().await;
}

/// Lets a write fail with changing errors. The event of an error that comes back is patched.
async fn record_events(harness: &Harness) {
    let fail = |message: &str| {
        let writes = Match::writes().resource("endpointslices");
        harness
            .faults()
            .add(Rule::when(writes).answer(Answer::status(500).message(message)))
    };
    let mut failing = fail("one");
    harness.add_endpoint(5, &[SERVICE]).await;
    for (created, patched, next) in [(1, 0, "two"), (2, 0, "one"), (2, 1, "none")] {
        until(&format!("{created} events, {patched} of them patched"), async || {
            let count = |verb| {
                harness
                    .faults()
                    .count(&Match::verb(verb).resource("events").namespace(&harness.namespace))
            };
            (count(Verb::Create), count(Verb::Patch)) == (created, patched)
        })
        .await
        .unwrap();
        // The writes fail without a gap.
        let before = std::mem::replace(&mut failing, fail(next));
        before.remove();
    }
    failing.remove();
    harness.wait_published(SERVICE, 1..=5).await;
}

/// Requests metrics, so that the token and the permission of the client are reviewed. Whether they are served does not matter.
async fn scrape(harness: &Harness, tested: Tested, port: u16) {
    let Credentials::Token(token) = harness.account(tested).credentials() else {
        panic!("the account has no token");
    };
    let client = SecureClient::new(port, None, Some(token)).unwrap();
    client.get("/metrics").await.unwrap();
}

/// The permissions of a controller one by one, as `GROUP RESOURCE VERB`.
fn permissions(controller: Controller) -> BTreeSet<String> {
    let objects = manifests::objects(&[controller], &Options::default());
    let own = |object: &&DynamicObject| {
        let labels = object.metadata.labels.as_ref().unwrap();
        labels[manifests::NAME_LABEL] == controller.name()
    };
    let rules = objects.iter().filter(own).filter_map(|object| object.data.get("rules"));
    let rules = rules.flat_map(|rules| serde_json::from_value::<Vec<PolicyRule>>(rules.clone()).unwrap());
    let one_by_one = rules.flat_map(|rule| {
        let groups = rule.api_groups.unwrap_or_default();
        let resources = rule.resources.unwrap_or_default();
        let mut permissions = Vec::new();
        for (group, resource) in groups
            .iter()
            .flat_map(|group| resources.iter().map(move |resource| (group, resource)))
        {
            permissions.extend(rule.verbs.iter().map(|verb| format!("{group} {resource} {verb}")));
        }
        permissions
    });
    one_by_one
        .filter(|permission| !permission.ends_with(CHECKED_BY_ADMISSION))
        .collect()
}
