//! Stopping, killing, freezing and restarting components.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use testenv::{ControlPlane, Error};

use crate::config_map;

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    let list = api.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|map| map.metadata.name).collect()
}

#[tokio::test]
async fn a_killed_control_plane_keeps_its_data_and_does_not_affect_another() {
    let (one, two) = tokio::try_join!(ControlPlane::start(), ControlPlane::start()).unwrap();
    let maps_one: Api<ConfigMap> = Api::default_namespaced(one.client().unwrap());
    let maps_two: Api<ConfigMap> = Api::default_namespaced(two.client().unwrap());
    let params = PostParams::default();
    maps_one.create(&params, &config_map("one")).await.unwrap();
    maps_two.create(&params, &config_map("two")).await.unwrap();

    let before = one.apiserver().pid();
    one.apiserver().kill().await.unwrap();
    assert!(!one.apiserver().is_running());
    assert_eq!(one.apiserver().pid(), None);
    assert!(maps_one.get("one").await.is_err());
    assert_eq!(names(&maps_two).await, ["two"]);

    one.apiserver().start().await.unwrap();
    assert_ne!(one.apiserver().pid(), before);
    assert_eq!(names(&maps_one).await, ["one"]);
    assert_eq!(names(&maps_two).await, ["two"]);
}

#[tokio::test]
async fn etcd_keeps_its_data_after_kill_and_stop() {
    let control_plane = ControlPlane::start().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(control_plane.client().unwrap());
    maps.create(&PostParams::default(), &config_map("kept")).await.unwrap();
    let etcd = control_plane.etcd();

    etcd.kill().await.unwrap();
    etcd.start().await.unwrap();
    assert_eq!(names(&maps).await, ["kept"]);

    control_plane.apiserver().stop().await.unwrap();
    etcd.stop().await.unwrap();
    etcd.start().await.unwrap();
    control_plane.apiserver().start().await.unwrap();
    assert_eq!(names(&maps).await, ["kept"]);
}

/// The copy is older than the state that it replaces, and so are its resource versions.
#[tokio::test]
async fn etcd_goes_back_to_an_earlier_copy() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &config_map("kept")).await.unwrap();
    let copy = control_plane.copy_etcd().await.unwrap();
    // More writes than the API server itself does when it starts.
    let mut version_before = None;
    for number in 0..200 {
        let map = config_map(&format!("lost-{number}"));
        version_before = maps
            .create(&PostParams::default(), &map)
            .await
            .unwrap()
            .metadata
            .resource_version;
    }
    for _ in 0..2 {
        control_plane.restore_etcd(&copy).await.unwrap();
        let list = maps.list(&ListParams::default()).await.unwrap();
        assert_eq!(names(&maps).await, ["kept"]);
        let version = |version: Option<String>| version.unwrap().parse::<u64>().unwrap();
        assert!(version(list.metadata.resource_version) < version(version_before.clone()));
    }
    maps.create(&PostParams::default(), &config_map("new")).await.unwrap();
}

#[tokio::test]
async fn a_frozen_apiserver_does_not_respond_until_it_is_thawed() {
    let control_plane = ControlPlane::start().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(control_plane.client().unwrap());
    let apiserver = control_plane.apiserver();
    maps.create(&PostParams::default(), &config_map("there")).await.unwrap();

    apiserver.freeze().await.unwrap();
    assert!(apiserver.is_running());
    let request = tokio::time::timeout(Duration::from_secs(1), maps.get("there"));
    assert!(request.await.is_err(), "a frozen server responded");
    apiserver.freeze().await.unwrap();

    apiserver.thaw().unwrap();
    assert_eq!(names(&maps).await, ["there"]);

    apiserver.freeze().await.unwrap();
    apiserver.stop().await.unwrap();
    assert!(!apiserver.is_running());
}

#[tokio::test]
async fn an_operation_in_the_wrong_state_is_an_error() {
    let control_plane = ControlPlane::start().await.unwrap();
    let apiserver = control_plane.apiserver();
    let running = apiserver.start().await.unwrap_err();
    assert_eq!(
        running.to_string(),
        "cannot start kube-apiserver: it is already running"
    );

    apiserver.kill().await.unwrap();
    apiserver.kill().await.unwrap();
    let gone = apiserver.freeze().await.unwrap_err();
    assert_eq!(gone.to_string(), "cannot freeze kube-apiserver: it is not running");
    assert!(matches!(apiserver.thaw(), Err(Error::WrongState { .. })));
}

#[tokio::test]
async fn a_component_that_exits_at_startup_is_an_error_with_its_log() {
    let builder = ControlPlane::builder().apiserver_arg("--nonsense");
    let error = builder.start().await.err().unwrap();
    let Error::Ended { component, log, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(component, "kube-apiserver");
    assert!(log.contains("unknown flag: --nonsense"), "{log}");
}

#[tokio::test]
async fn arguments_reach_both_components_and_compaction_expires_old_lists() {
    let builder = ControlPlane::builder()
        .etcd_arg("--logger=zap")
        .apiserver_arg("--service-cluster-ip-range=10.7.0.0/24")
        .apiserver_arg("--feature-gates=ListFromCacheSnapshot=false");
    let control_plane = builder.start().await.unwrap();
    let client = control_plane.client().unwrap();
    let services: Api<k8s_openapi::api::core::v1::Service> = Api::default_namespaced(client.clone());
    let spec = services.get("kubernetes").await.unwrap().spec.unwrap();
    assert_eq!(spec.cluster_ip.as_deref(), Some("10.7.0.1"));

    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }
    let page = maps.list(&ListParams::default().limit(1)).await.unwrap();
    let token = page.metadata.continue_.unwrap();
    let next = ListParams::default().limit(1).continue_token(&token);
    maps.create(&PostParams::default(), &config_map("d")).await.unwrap();
    assert!(maps.list(&next).await.is_ok());

    let revision = control_plane.compact_etcd().await.unwrap();
    assert!(revision > 1);
    let kube::Error::Api(status) = maps.list(&next).await.unwrap_err() else {
        panic!("not a response of the API server");
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}
