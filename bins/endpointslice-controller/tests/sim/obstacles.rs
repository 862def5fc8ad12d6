//! What keeps the program from running: one line each, and a failure.

use apisim::{
    faults::{Answer, Match, Rule},
    request::Verb,
};

use crate::{server, stories::fails};

#[tokio::test]
async fn missing_rights_are_told_by_verb_and_resource() {
    let (server, _) = server().await;
    server
        .faults
        .add(Rule::on(Verb::List, "pods").answer(Answer::status(403).message("pods is forbidden")));
    server.faults.add(Rule::on(Verb::Watch, "nodes").answer(401));
    let complaints = fails(&[&server.flag()]).await;
    let url = server.url();
    assert_eq!(
        complaints,
        [
            format!("{url}/: not allowed to watch nodes: injected fault: 401; check the credentials and RBAC rules"),
            format!("{url}/: not allowed to list pods: pods is forbidden; check the credentials and RBAC rules"),
        ]
    );
    assert_eq!(server.faults.count(&Match::writes()), 0);
}

#[tokio::test]
async fn a_server_without_the_api_of_slices_is_told() {
    let (server, _) = server().await;
    server.faults.add(Rule::on(Verb::List, "endpointslices").answer(404));
    let complaints = fails(&[&server.flag()]).await;
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(
        complaints[0].contains("does not serve apis/discovery.k8s.io/v1/endpointslices"),
        "{complaints:?}"
    );
}

#[tokio::test]
async fn a_server_that_hangs_up_is_told_once() {
    let (server, _) = server().await;
    server.faults.add(Rule::when(Match::default()).drop_request());
    let complaints = fails(&[&server.flag()]).await;
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(
        complaints[0].contains(": the API server cannot be reached: "),
        "{complaints:?}"
    );
}

#[tokio::test]
async fn a_selector_that_cannot_be_read_is_told() {
    let (server, _) = server().await;
    let complaints = fails(&[&server.flag(), "--service-selector=a in"]).await;
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(
        complaints[0].contains(": the API server rejected the request to list services: "),
        "{complaints:?}"
    );
}
