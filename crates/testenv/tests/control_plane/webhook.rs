//! The admission webhook in each of its modes.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};
use testenv::{ControlPlane, Webhook, WebhookMode, objects::create};

use crate::until;

const LABEL: &str = "kubernetes.io/service-name";

fn slice(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {LABEL: "web"}}, "addressType": "IPv4", "endpoints": []})
}

#[tokio::test]
async fn a_webhook_patches_denies_and_hangs() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    let webhook = Webhook::mutating(&control_plane, "default").await.unwrap();
    let created = create(&slices, slice("allowed")).await.unwrap();
    assert_eq!(created.labels()[LABEL], "web");

    webhook.set_mode(WebhookMode::set_label(LABEL, "other"));
    let created = create(&slices, slice("patched")).await.unwrap();
    assert_eq!(created.labels()[LABEL], "other");

    let validating = Webhook::validating(&control_plane, "default").await.unwrap();
    let before = validating.requests();
    validating.set_mode(WebhookMode::Deny {
        code: 403,
        message: "not today".to_owned(),
        retry_after_seconds: Some(86_400),
    });
    let denied = slices.delete("patched", &DeleteParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = denied else {
        panic!("not a response of the API server: {denied}");
    };
    assert_eq!(status.code, 403);
    assert!(status.message.contains("not today"), "{}", status.message);
    assert_eq!(status.details.unwrap().retry_after_seconds, 86_400);
    assert_eq!(validating.requests(), before + 1);

    let denial = WebhookMode::Deny {
        code: 422,
        message: "not this one".to_owned(),
        retry_after_seconds: None,
    };
    validating.set_mode(denial.for_service("other"));
    let dry_run = DeleteParams::default().dry_run();
    slices.delete("allowed", &dry_run).await.unwrap();
    let denied = slices.delete("patched", &dry_run).await.unwrap_err();
    assert!(denied.to_string().contains("not this one"), "{denied}");

    let before = validating.requests() - 1;
    validating.set_mode(WebhookMode::Hang);
    let hanging = tokio::spawn(async move { create(&slices, slice("late")).await });
    until("a second request", async || validating.requests() == before + 2).await;
    assert!(!hanging.is_finished());
    validating.set_mode(WebhookMode::Allow);
    hanging.await.unwrap().unwrap();
    let slices: Api<EndpointSlice> = Api::default_namespaced(client);
    let listed = slices.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(
        listed.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        ["allowed", "late", "patched"]
    );
}
