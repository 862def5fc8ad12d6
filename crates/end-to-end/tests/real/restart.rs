//! I6: who comes back, or has to list everything anew, writes nothing.

use apisim::faults::{Match, Recorded};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;
use slice_oracle::Window;
use testenv::{ControlPlane, FaultProxy, blindfold, objects::create};

use crate::{looks, programs::Ours, world::World};

/// How the names of what comes last begin.
const NEW: &str = "zz-new";

/// Everything is published by our programs, which then end and start again.
#[tokio::test]
async fn i6_a_restart_at_rest_writes_nothing() {
    let world = World::new(ControlPlane::builder()).await;
    let flag = world.flag();
    let ours = Ours::start(&[&flag], &[], &[]).await;
    looks::ours_have(&ours, &world).await;
    world.rest("restart", Window::NoWrites).await;
    let before = world.slice_writes().await;
    assert!(before > 0);
    ours.stop().await;
    let ours = Ours::start(&[&flag], &[], &[]).await;
    looks::ours_have(&ours, &world).await;
    world.judge().await;
    assert_eq!(world.slice_writes().await, before);
    ours.stop().await;
}

/// F11: all watches end, and etcd no longer knows how to go on with them.
#[tokio::test]
async fn f11_a_relist_writes_nothing() {
    // Otherwise the API server remembers what etcd has forgotten.
    let world = World::new(ControlPlane::builder().apiserver_arg("--watch-cache=false")).await;
    let proxy = FaultProxy::start(&world.control_plane).await.unwrap();
    let kubeconfig = proxy.kubeconfig(world.control_plane.admin()).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.path.display());
    let ours = Ours::start(&[&flag], &[], &[]).await;
    looks::ours_have(&ours, &world).await;
    world.rest("relist", Window::NoWrites).await;
    let before = world.slice_writes().await;
    assert!(before > 0);

    let blindfold = blindfold(proxy.faults()).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(world.client.clone());
    // Who has seen the last revision but one misses nothing that is forgotten.
    for name in ["one", "two"] {
        create(&maps, json!({"metadata": {"name": name}})).await.unwrap();
    }
    world.control_plane.compact_etcd().await.unwrap();
    blindfold.remove();
    let watched = ["endpointslices", "nodes", "pods", "services"];
    ours.services.lists_anew(&watched).await.unwrap();
    let watched = ["endpoints", "endpointslices", "services"];
    ours.mirroring.lists_anew(&watched).await.unwrap();
    world.rest("something new", Window::Any).await;
    assert_eq!(world.slice_writes().await, before);

    // Who sees what is new has listed what is old.
    world.something_new(NEW).await;
    world.judge().await;
    let written = proxy.faults().requests(&Match::writes().resource("endpointslices"));
    let of_old = |recorded: &&Recorded| !recorded.request.name.as_deref().unwrap().starts_with(NEW);
    assert_eq!(written.iter().filter(of_old).count(), before);
    ours.stop().await;
}
