//! Preflight errors: the program reports each in one line and exits with 1.

use apisim::{
    faults::{Answer, Match, Rule},
    request::Verb,
};

use crate::{scenarios::start_fails, start_server};

#[tokio::test]
async fn missing_permissions_are_reported_by_verb_and_resource() {
    let (server, _) = start_server().await;
    server
        .faults
        .add(Rule::on(Verb::List, "pods").answer(Answer::status(403).message("pods is forbidden")));
    server.faults.add(Rule::on(Verb::Watch, "nodes").answer(401));
    let errors = start_fails(&[&server.flag()]).await;
    let url = server.url();
    assert_eq!(
        errors,
        [
            format!("{url}/: not allowed to watch nodes: injected fault: 401; check the credentials and RBAC rules"),
            format!("{url}/: not allowed to list pods: pods is forbidden; check the credentials and RBAC rules"),
        ]
    );
    assert_eq!(server.faults.count(&Match::writes()), 0);
}

#[tokio::test]
async fn a_server_without_endpointslices_is_reported() {
    let (server, _) = start_server().await;
    server.faults.add(Rule::on(Verb::List, "endpointslices").answer(404));
    let errors = start_fails(&[&server.flag()]).await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("does not serve apis/discovery.k8s.io/v1/endpointslices"),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_server_that_closes_connections_is_reported_once() {
    let (server, _) = start_server().await;
    server.faults.add(Rule::when(Match::default()).drop_request());
    let errors = start_fails(&[&server.flag()]).await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains(": the API server cannot be reached: "), "{errors:?}");
}

#[tokio::test]
async fn an_invalid_service_selector_is_reported() {
    let (server, _) = start_server().await;
    let errors = start_fails(&[&server.flag(), "--service-selector=a in"]).await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains(": the API server rejected the request to list services: "),
        "{errors:?}"
    );
}
