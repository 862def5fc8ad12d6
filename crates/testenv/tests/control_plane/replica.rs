//! A further API server of the same etcd.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use testenv::{ControlPlane, FaultProxy, pki::Pki};

use crate::{config_map, until};

/// The names of objects in the cache of the server.
async fn cached(server: &Client) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::namespaced(server.clone(), "kube-public");
    let maps = maps.list(&ListParams::default().match_any()).await.unwrap();
    maps.items.into_iter().filter_map(|map| map.metadata.name).collect()
}

#[tokio::test]
async fn a_replica_without_etcd_serves_older_objects() {
    let control_plane = ControlPlane::start().await.unwrap();
    let replica = control_plane.start_replica().await.unwrap();
    let proxy = FaultProxy::start(&control_plane).await.unwrap();
    let url = replica.url().to_owned();
    proxy.redirect(move |_, path| {
        path.query()?
            .contains("resourceVersion=0")
            .then(|| format!("{url}{path}").parse().ok())?
    });
    let client = proxy.client_for(control_plane.admin()).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-public");
    let create = async |name: &str| maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    create("first").await;
    until("the first object", async || cached(&client).await == ["first"]).await;
    replica.freeze_etcd();
    create("second").await;
    // Not redirected.
    assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 2);
    assert_eq!(cached(&client).await, ["first"]);
    replica.thaw_etcd();
    until("both objects", async || cached(&client).await == ["first", "second"]).await;

    replica.replace_certificate(&Pki::new().unwrap()).unwrap();
    until("the new certificate", async || {
        let client = control_plane.client_at(control_plane.admin(), replica.url()).unwrap();
        client.apiserver_version().await.is_err()
    })
    .await;
}
