//! kube-controller-manager with chosen controllers.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use testenv::{ControlPlane, Error};

use crate::{config_map, until};

#[tokio::test]
async fn chosen_controllers_collect_garbage_and_empty_namespaces() {
    let control_plane = ControlPlane::start().await.unwrap();
    let controllers = ["garbage-collector-controller", "namespace-controller"];
    let manager = control_plane.controller_manager(&controllers, &[]).await.unwrap();
    let client = control_plane.client().unwrap();
    let (post, delete) = (PostParams::default(), DeleteParams::default());

    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let owner = maps.create(&post, &config_map("owner")).await.unwrap();
    let mut dependent = config_map("owned");
    dependent.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: "owner".to_owned(),
        uid: owner.metadata.uid.unwrap(),
        ..OwnerReference::default()
    }]);
    maps.create(&post, &dependent).await.unwrap();
    maps.delete("owner", &delete).await.unwrap();
    until("the owned object is garbage-collected", async || {
        maps.get_opt("owned").await.unwrap().is_none()
    })
    .await;

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some("short-lived".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    namespaces.create(&post, &namespace).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "short-lived");
    maps.create(&post, &config_map("inside")).await.unwrap();
    namespaces.delete("short-lived", &delete).await.unwrap();
    until("the namespace is gone", async || {
        namespaces.get_opt("short-lived").await.unwrap().is_none()
    })
    .await;
    assert!(manager.is_running());
}

#[tokio::test]
async fn an_unknown_controller_is_an_error() {
    let control_plane = ControlPlane::start().await.unwrap();
    let result = control_plane.controller_manager(&["nonsense"], &[]).await;
    let Err(Error::Ended { component, log, .. }) = result else {
        panic!("it started");
    };
    assert_eq!(component, "kube-controller-manager");
    assert!(log.contains("is not in the list of known controllers"), "{log}");
}
