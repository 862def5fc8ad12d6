//! Credentials that change while the controllers run.

use std::fs;

use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::{Secret, ServiceAccount},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, PostParams},
    config::KubeConfigOptions,
};
use manifests::NAMESPACE;
use serde_json::json;
use slice_oracle::Window;
use testenv::{CONTROLLERS, ControlPlane, objects::create, until};

use crate::harness::Harness;

/// A token of an account that is bound to this secret.
async fn token(client: &Client, account: &str, secret: &str) -> String {
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Secret".to_owned()),
                name: Some(secret.to_owned()),
                uid: None,
            }),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let params = PostParams::default();
    let answer = accounts.create_token_request(account, &params, &request).await;
    answer.unwrap().status.unwrap().token.unwrap()
}

/// A token file is read again before its token expires (F21).
#[tokio::test]
async fn f21_a_replaced_token_file_is_reloaded() {
    let harness = Harness::new(ControlPlane::builder()).await;
    let secrets: Api<Secret> = Api::namespaced(harness.client.clone(), NAMESPACE);
    for secret in ["first", "second"] {
        create(&secrets, json!({"metadata": {"name": secret}})).await.unwrap();
    }
    let mut token_files = Vec::new();
    let mut with_the_first = Vec::new();
    for (name, account) in CONTROLLERS.iter().zip(&*harness.accounts.users) {
        let mut kubeconfig = harness.control_plane.kubeconfig(account).unwrap().content;
        let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
        let token_file = user.token_file.take().unwrap();
        let first = token(&harness.client, name, "first").await;
        fs::write(&token_file, &first).unwrap();
        user.token = Some(first.into());
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let slices: Api<EndpointSlice> = Api::all(Client::try_from(config).unwrap());
        slices.list(&ListParams::default()).await.unwrap();
        with_the_first.push(slices);
        token_files.push((name, token_file));
    }

    let ours = harness.start_ours().await;
    harness.start_phase("the tokens are replaced", Window::Any).await;
    for (name, token_file) in &token_files {
        fs::write(token_file, token(&harness.client, name, "second").await).unwrap();
    }
    secrets.delete("first", &DeleteParams::default()).await.unwrap();
    for slices in with_the_first {
        until("the first token is rejected", async || {
            slices.list(&ListParams::default()).await.is_err()
        })
        .await
        .unwrap();
    }
    harness.add_objects("rotated").await;
    harness.assert_clean().await;
    ours.stop().await;
}
