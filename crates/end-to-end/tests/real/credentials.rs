//! Credentials that change while the controllers run.

use std::{fs, path::PathBuf};

use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::{Namespace, Secret, ServiceAccount},
};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use slice_oracle::Window;
use testenv::{ControlPlane, objects::create, rule, until};

use crate::{controllers::OurControllers, harness::Harness};

const NAMESPACE: &str = "kube-system";
const ACCOUNT: &str = "rotated";

/// A token that is bound to a new secret of this name.
async fn token(client: &Client, secret: &str) -> String {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    create(&secrets, json!({"metadata": {"name": secret}})).await.unwrap();
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
    let answer = accounts.create_token_request(ACCOUNT, &params, &request).await;
    answer.unwrap().status.unwrap().token.unwrap()
}

/// A token file is read again before its token expires (F21).
#[tokio::test]
async fn f21_a_replaced_token_file_is_reloaded() {
    let harness = Harness::new(ControlPlane::builder()).await;
    let everything = rule(&["*"], &["*"], &["*"]);
    let control_plane = &harness.control_plane;
    let account = control_plane.service_account(NAMESPACE, ACCOUNT, vec![everything]);
    let kubeconfig = control_plane.kubeconfig(&account.await.unwrap()).unwrap().path;
    let mut contents = Kubeconfig::read_from(&kubeconfig).unwrap();
    let user = contents.auth_infos[0].auth_info.as_mut().unwrap();
    let token_file = PathBuf::from(user.token_file.take().unwrap());
    let first = token(&harness.client, "first").await;
    fs::write(&token_file, &first).unwrap();
    user.token = Some(first.into());
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(contents, &options).await.unwrap();
    let with_the_first = Client::try_from(config).unwrap();
    let namespaces: Api<Namespace> = Api::all(with_the_first);
    namespaces.list(&ListParams::default()).await.unwrap();

    let ours = OurControllers::start(&[&format!("--kubeconfig={}", kubeconfig.display())], &[], &[]).await;
    harness.start_phase("the token is replaced", Window::Any).await;
    fs::write(&token_file, token(&harness.client, "second").await).unwrap();
    let secrets: Api<Secret> = Api::namespaced(harness.client.clone(), NAMESPACE);
    secrets.delete("first", &DeleteParams::default()).await.unwrap();
    until("the first token is rejected", async || {
        namespaces.list(&ListParams::default()).await.is_err()
    })
    .await
    .unwrap();
    harness.add_objects("rotated").await;
    harness.assert_clean().await;
    ours.stop().await;
}
