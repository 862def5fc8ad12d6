//! Token and access reviews, to which a secure metrics endpoint delegates.

use http::Method;
use serde_json::{Value, json};

use super::Api;

async fn review(api: &Api, group: &str, resource: &str, kind: &str, spec: Value) -> Value {
    let group = format!("{group}.k8s.io/v1");
    let body = json!({"apiVersion": group, "kind": kind, "spec": spec});
    let response = api
        .send(Method::POST, &format!("/apis/{group}/{resource}"), &body)
        .await;
    assert_eq!(response.code, 201, "{response:?}");
    response.body
}

#[tokio::test]
async fn an_unknown_token_is_not_authenticated() {
    let api = Api::new().await;
    let response = review(
        &api,
        "authentication",
        "tokenreviews",
        "TokenReview",
        json!({"token": "unknown"}),
    )
    .await;
    assert_eq!(response["kind"], "TokenReview");
    assert_eq!(
        (&response["status"]["authenticated"], &response["status"]["user"]),
        (&json!(null), &json!({}))
    );
}

#[tokio::test]
async fn the_admin_may_do_everything() {
    let api = Api::new().await;
    let spec = json!({"resourceAttributes": {"namespace": "x", "verb": "delete", "group": "discovery.k8s.io", "resource": "endpointslices"}});
    let response = review(
        &api,
        "authorization",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        spec.clone(),
    )
    .await;
    assert_eq!(
        (&response["spec"], &response["status"]["allowed"]),
        (&spec, &json!(true))
    );
    let spec = json!({"nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": "root", "groups": ["system:masters"]});
    let response = review(
        &api,
        "authorization",
        "subjectaccessreviews",
        "SubjectAccessReview",
        spec,
    )
    .await;
    assert_eq!(response["status"]["allowed"], true);
}

#[tokio::test]
async fn reviews_need_a_spec() {
    let api = Api::new().await;
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "a"}});
    let response = api
        .send(
            Method::POST,
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            &body,
        )
        .await;
    assert_eq!(
        (response.code, response.causes()),
        (422, vec!["FieldValueInvalid spec.resourceAttributes".into()])
    );
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}});
    let response = api
        .send(Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", &body)
        .await;
    assert_eq!(response.code, 400);
}
