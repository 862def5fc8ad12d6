//! Owner references and deletion propagation without a garbage collector (R109, R149).

use http::Method;
use serde_json::json;

use super::fixtures::{service, slice};
use super::{Api, with};

/// Owner references are stored without a check that the owner exists (R149).
#[tokio::test]
async fn r149_owners_need_not_exist() {
    let api = Api::new().await;
    let owners = json!([{
        "apiVersion": "v1", "kind": "Service", "name": "none", "uid": "none", "controller": true, "blockOwnerDeletion": true
    }]);
    let created = api
        .create(
            "endpointslices",
            &with(slice("a"), "metadata.ownerReferences", owners.clone()),
        )
        .await
        .ok();
    assert_eq!(created["metadata"]["ownerReferences"], owners);
}

#[tokio::test]
async fn only_one_owner_is_the_controller() {
    let api = Api::new().await;
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "Service", "name": name, "uid": name, "controller": true});
    let two = with(slice("a"), "metadata.ownerReferences", json!([owner("x"), owner("y")]));
    assert_eq!(
        api.create("endpointslices", &two).await.causes(),
        ["FieldValueInvalid metadata.ownerReferences"]
    );
}

/// A foreground deletion adds a finalizer.
#[tokio::test]
async fn foreground_deletion_adds_a_finalizer() {
    let api = Api::new().await;
    api.create("services", &service("a")).await.ok();
    let deleted = api
        .delete("services", "a", &json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    assert_eq!(deleted["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_ne!(deleted["metadata"]["deletionTimestamp"], json!(null));
}

#[tokio::test]
async fn the_policy_must_be_known() {
    let api = Api::new().await;
    api.create("services", &service("a")).await.ok();
    let path = format!("{}/a", api.collection("services"));
    let response = api
        .send(Method::DELETE, &path, &json!({"propagationPolicy": "Nonsense"}))
        .await;
    assert_eq!(response.error_summary(), "422 Invalid meta.k8s.io/DeleteOptions \"\"");
    assert_eq!(response.causes(), ["FieldValueNotSupported propagationPolicy"]);
}
