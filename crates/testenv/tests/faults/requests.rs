//! Faults of single requests.

use std::time::Duration;

use apisim::{
    faults::{Answer, Match, Rule},
    request::Verb,
};
use http::{Request, StatusCode, header::RETRY_AFTER};
use kube::client::Body;

use super::{FaultHarness, create, lease, status_of};

pub(crate) async fn a_response_instead_of_the_servers(harness: FaultHarness) {
    let rejection = Answer::status(403).reason("Forbidden").message("quota exceeded");
    let rule = harness.faults.add(Rule::on(Verb::Create, "leases").answer(rejection));
    let error = create(&harness.leases(), "a").await.unwrap_err();
    assert!(error.to_string().contains("quota exceeded"), "{error}");
    assert_eq!(status_of(error), (403, "Forbidden".into()));
    assert_eq!(rule.hits(), 1);
    assert!(!harness.exists("a").await);
    rule.remove();
    create(&harness.leases(), "a").await.unwrap();
}

pub(crate) async fn a_response_with_headers(harness: FaultHarness) {
    let later = Answer::status(429)
        .header(RETRY_AFTER, 7.into())
        .delay(Duration::from_millis(1));
    harness.faults.add(Rule::on(Verb::Get, "leases").answer(later));
    let address = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/a", harness.namespace);
    let request = Request::get(address).body(Body::empty()).unwrap();
    let response = harness.faulty.send(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()[RETRY_AFTER], "7");
}

pub(crate) async fn only_the_nth_match_and_a_limited_number(harness: FaultHarness) {
    harness
        .faults
        .add(Rule::on(Verb::Create, "leases").nth(2).times(1).answer(503));
    let leases = harness.leases();
    create(&leases, "a").await.unwrap();
    let error = create(&leases, "b").await.unwrap_err();
    assert_eq!(status_of(error), (503, "ServiceUnavailable".into()));
    create(&leases, "b").await.unwrap();
}

pub(crate) async fn only_the_object_with_that_name(harness: FaultHarness) {
    harness
        .faults
        .add(Rule::on(Verb::Create, "leases").name("b").answer(500));
    let leases = harness.leases();
    create(&leases, "a").await.unwrap();
    assert_eq!(status_of(create(&leases, "b").await.unwrap_err()).0, 500);
}

pub(crate) async fn a_delayed_request_does_not_block_others(harness: FaultHarness) {
    let rule = harness.faults.add(
        Rule::on(Verb::Create, "leases")
            .name("late")
            .delay(Duration::from_secs(3600)),
    );
    let leases = harness.leases();
    let late = tokio::spawn({
        let leases = leases.clone();
        async move { create(&leases, "late").await }
    });
    while rule.hits() == 0 {
        tokio::task::yield_now().await;
    }
    create(&leases, "other").await.unwrap();
    assert!(!late.is_finished());
    assert!(!harness.exists("late").await);
    late.abort();
}

pub(crate) async fn a_held_request_reaches_the_server_on_release(harness: FaultHarness) {
    let rule = harness.faults.add(Rule::on(Verb::Create, "leases").hold_request());
    let held = tokio::spawn({
        let leases = harness.leases();
        async move { create(&leases, "a").await }
    });
    while rule.hits() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!harness.exists("a").await);
    rule.remove();
    held.await.unwrap().unwrap();
    assert!(harness.exists("a").await);
}

pub(crate) async fn a_dropped_request_never_reaches_the_server(harness: FaultHarness) {
    harness
        .faults
        .add(Rule::on(Verb::Create, "leases").times(1).drop_request());
    let error = create(&harness.leases(), "a").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error:?}");
    assert!(!harness.exists("a").await);
}

pub(crate) async fn a_dropped_response_leaves_the_object_in_place(harness: FaultHarness) {
    harness
        .faults
        .add(Rule::on(Verb::Create, "leases").times(1).drop_answer());
    let error = create(&harness.leases(), "a").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error:?}");
    assert!(harness.exists("a").await);
    let again = create(&harness.leases(), "a").await.unwrap_err();
    assert_eq!(status_of(again), (409, "AlreadyExists".into()));
}

pub(crate) async fn a_held_response_reaches_the_client_on_release(harness: FaultHarness) {
    let rule = harness.faults.add(Rule::on(Verb::Create, "leases").hold_answer());
    let held = tokio::spawn({
        let leases = harness.leases();
        async move { create(&leases, "a").await }
    });
    while !harness.exists("a").await {
        tokio::task::yield_now().await;
    }
    assert!(!held.is_finished());
    rule.remove();
    held.await.unwrap().unwrap();
}

pub(crate) async fn every_request_is_recorded(harness: FaultHarness) {
    harness.faults.add(Rule::on(Verb::Delete, "leases").drop_request());
    let leases = harness.leases();
    create(&leases, "a").await.unwrap();
    create(&leases, "a").await.unwrap_err();
    leases.get("a").await.unwrap();
    leases
        .delete("a", &kube::api::DeleteParams::default())
        .await
        .unwrap_err();
    let writes = harness.faults.requests(&Match::writes().resource("leases").name("a"));
    let seen: Vec<_> = writes.iter().map(|write| (write.request.verb, write.status)).collect();
    assert_eq!(
        seen,
        [
            (Verb::Create, Some(StatusCode::CREATED)),
            (Verb::Create, Some(StatusCode::CONFLICT)),
            (Verb::Delete, None),
        ]
    );
    let sent: k8s_openapi::api::coordination::v1::Lease = serde_json::from_slice(&writes[0].body).unwrap();
    assert_eq!(sent, lease("a"));
    assert_eq!(harness.faults.count(&Match::verb(Verb::Get)), 1);
    harness.faults.clear_log();
    assert_eq!(harness.faults.count(&Match::default()), 0);
}
