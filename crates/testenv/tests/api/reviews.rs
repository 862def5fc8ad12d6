//! Who is asking and what they may: the reviews that the metrics endpoint delegates to.

use http::Method;
use serde_json::{Value, json};

use super::Api;

async fn review(api: &Api, group: &str, resource: &str, kind: &str, spec: Value) -> Value {
    let group = format!("{group}.k8s.io/v1");
    let body = json!({"apiVersion": group, "kind": kind, "spec": spec});
    let answer = api
        .send(Method::POST, &format!("/apis/{group}/{resource}"), &body)
        .await;
    assert_eq!(answer.code, 201, "{answer:?}");
    answer.body
}

#[tokio::test]
async fn an_unknown_token_is_not_authenticated() {
    let api = Api::new().await;
    let answer = review(
        &api,
        "authentication",
        "tokenreviews",
        "TokenReview",
        json!({"token": "nobody's"}),
    )
    .await;
    assert_eq!(answer["kind"], "TokenReview");
    assert_eq!(
        (&answer["status"]["authenticated"], &answer["status"]["user"]),
        (&json!(null), &json!({}))
    );
}

#[tokio::test]
async fn the_admin_may_do_everything() {
    let api = Api::new().await;
    let spec = json!({"resourceAttributes": {"namespace": "x", "verb": "delete", "group": "discovery.k8s.io", "resource": "endpointslices"}});
    let answer = review(
        &api,
        "authorization",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        spec.clone(),
    )
    .await;
    assert_eq!((&answer["spec"], &answer["status"]["allowed"]), (&spec, &json!(true)));
    let spec = json!({"nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": "root", "groups": ["system:masters"]});
    let answer = review(
        &api,
        "authorization",
        "subjectaccessreviews",
        "SubjectAccessReview",
        spec,
    )
    .await;
    assert_eq!(answer["status"]["allowed"], true);
}

#[tokio::test]
async fn reviews_need_a_question() {
    let api = Api::new().await;
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "a"}});
    let answer = api
        .send(
            Method::POST,
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            &body,
        )
        .await;
    assert_eq!(
        (answer.code, answer.causes()),
        (422, vec!["FieldValueInvalid spec.resourceAttributes".into()])
    );
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}});
    let answer = api
        .send(Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", &body)
        .await;
    assert_eq!(answer.code, 400);
}
