//! Every permission of the manifests is used. That no request needs another one is checked for all tests, by
//! [`Accounts`](crate::accounts::Accounts).

use std::collections::BTreeSet;

use apisim::{
    faults::{Answer, Match, Recorded, Rule},
    request::Verb,
};
use http::StatusCode;
use k8s_openapi::api::{core::v1::Endpoints, discovery::v1::EndpointSlice};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use manifests::Controller;
use serde_json::json;
use testenv::{Credentials, Protocol, SecureClient, free_port, until};

use crate::{
    accounts::{
        FOR_ALL_USERS,
        access::{Access, granted},
    },
    harness::{Harness, PODS, SERVICE, Tested, slice_writes},
};

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

/// Provokes every kind of request, and compares the record of the proxy with the rules: verbs, resources, namespaces and names.
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
        Tested::Mirroring => stop_mirroring(&harness).await,
    }
    until("the deletion of a slice", async || {
        let deletes = harness.faults().count_by_status(&Match::verb(Verb::Delete));
        deletes.contains_key(&Some(StatusCode::OK))
    })
    .await
    .unwrap();

    let requests = executed_requests(&harness);
    let granted: BTreeSet<Access> = granted(controller).into_iter().collect();
    let is_unused = |permission: &&Access| {
        let mut requests = requests.iter();
        !requests.any(|request| is_use(permission, request, &harness.namespace))
    };
    let unused = granted.iter().filter(is_unused);
    let not_granted = requests
        .iter()
        .filter(|request| !granted.iter().any(|permission| permission.allows(request)));
    let (unused, not_granted): (Vec<_>, Vec<_>) = (unused.collect(), not_granted.collect());
    assert_eq!(
        (unused, not_granted),
        (Vec::new(), Vec::new()),
        "(permissions without a request, requests without a permission)"
    );
    harness.stop().await;
}

/// The Endpoints object remains: if it was deleted, the garbage collector, which other tests run, could delete its slices first.
async fn stop_mirroring(harness: &Harness) {
    let endpoints: Api<Endpoints> = Api::namespaced(harness.client.clone(), &harness.namespace);
    let patch = Patch::Merge(json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}}));
    endpoints.patch(SERVICE, &PatchParams::default(), &patch).await.unwrap();
}

/// The requests in the record of the proxy that the API server has executed, and the permissions that its admission plugin has
/// checked for them.
fn executed_requests(harness: &Harness) -> BTreeSet<Access> {
    let mut requests = BTreeSet::new();
    for recorded in harness.faults().requests(&Match::default()) {
        // The Lease does not exist when it is read first. The faults of this test have other status codes.
        let executed = |status: StatusCode| status.is_success() || status == StatusCode::NOT_FOUND;
        if !recorded.status.is_some_and(executed) || recorded.request.resource == FOR_ALL_USERS {
            continue;
        }
        requests.extend(checked_by_admission(&recorded));
        let subresource = recorded
            .request
            .subresource
            .map(|subresource| format!("/{subresource}"));
        requests.insert(Access {
            verb: format!("{:?}", recorded.request.verb).to_lowercase(),
            group: recorded.request.group,
            resource: recorded.request.resource + &subresource.unwrap_or_default(),
            namespace: recorded.request.namespace.unwrap_or_default(),
            name: recorded.request.name.unwrap_or_default(),
        });
    }
    requests
}

/// Finalizers are not updated: the permission is needed to write slices that keep their owner from being deleted.
fn checked_by_admission(write: &Recorded) -> Option<Access> {
    if !slice_writes().covers(&write.request) {
        return None;
    }
    let slice: EndpointSlice = serde_json::from_slice(&write.body).ok()?;
    let owner = slice.metadata.owner_references?.into_iter().next()?;
    let resource = match &*owner.kind {
        "Service" => "services",
        "Endpoints" => "endpoints",
        other => panic!("a slice with an owner of the kind {other}"),
    };
    (owner.block_owner_deletion == Some(true)).then(|| Access {
        verb: "update".to_owned(),
        group: String::new(),
        resource: format!("{resource}/finalizers"),
        namespace: slice.metadata.namespace.unwrap_or_default(),
        name: owner.name,
    })
}

/// Whether the request needs this permission. That of a `ClusterRole` is needed for lists and watches of all namespaces, and for
/// objects in the namespace of a Service, which may be any.
fn is_use(permission: &Access, request: &Access, of_service: &str) -> bool {
    let is_of_collection = ["list", "watch"].contains(&&*permission.verb);
    let may_be_anywhere = !is_of_collection && request.namespace == of_service;
    permission.allows(request) && (request.namespace == permission.namespace || may_be_anywhere)
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
