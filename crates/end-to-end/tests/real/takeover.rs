//! From kube-controller-manager's controllers to ours and back: nothing is written.

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::Window;
use testenv::{CONTROLLERS, ControlPlane};

use crate::{kinds::AUTO, looks, programs::Ours, world::World};

/// Nobody should wait for upstream's limits.
pub(crate) const FAST: [&str; 2] = ["--kube-api-qps=1000", "--kube-api-burst=1000"];

/// I6: what upstream has made is taken over as it is, and given back as it is; so is what we have made.
#[tokio::test]
async fn i6_slices_are_taken_over_from_upstream_and_given_back_without_a_write() {
    let world = World::new(ControlPlane::builder()).await;
    assert!(world.services >= 50);
    let flag = world.flag();
    let manager = world
        .control_plane
        .controller_manager(&CONTROLLERS, &FAST)
        .await
        .unwrap();
    looks::upstream_has(&manager, &world).await;
    world.rest("from upstream to us", Window::NoWrites).await;
    let made = world.slice_writes().await;
    manager.stop().await.unwrap();
    let ours = Ours::start(&[&flag], &[], &[]).await;
    looks::ours_have(&ours, &world).await;
    world.rest("hints go", Window::Any).await;
    assert_eq!(world.slice_writes().await, made);

    // Upstream takes the hints of Auto away and gives them back when it restarts, now and then (W19).
    without_auto(&world).await;
    world.rest("back to upstream", Window::NoWrites).await;
    let made = world.slice_writes().await;
    ours.stop().await;
    manager.start().await.unwrap();
    looks::upstream_has(&manager, &world).await;
    world.rest("all slices go and come back", Window::Any).await;
    assert_eq!(world.slice_writes().await, made);
    manager.stop().await.unwrap();

    let ours = Ours::start(&[&flag], &[], &[]).await;
    delete_all_slices(&world).await;
    world.rest("ours to upstream", Window::NoWrites).await;
    let made = world.slice_writes().await;
    ours.stop().await;
    manager.start().await.unwrap();
    looks::upstream_has(&manager, &world).await;
    world.judge().await;
    assert_eq!(world.slice_writes().await, made);
}

async fn without_auto(world: &World) {
    let services: Api<Service> = Api::default_namespaced(world.client.clone());
    let patch = Patch::Merge(json!({"metadata": {"annotations": null}}));
    for service in services.list(&ListParams::default()).await.unwrap() {
        let name = service.name_any();
        if name.ends_with(&format!("-{AUTO}")) {
            services.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        }
    }
}

async fn delete_all_slices(world: &World) {
    let slices: Api<EndpointSlice> = Api::default_namespaced(world.client.clone());
    for slice in slices.list(&ListParams::default()).await.unwrap() {
        world.recorder.record_manual_deletion(&slice);
        slices
            .delete(&slice.name_any(), &DeleteParams::default())
            .await
            .unwrap();
    }
}
