//! Takeover from kube-controller-manager's controllers to ours and back, without writes.

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;
use slice_oracle::Window;
use testenv::{CONTROLLERS, ControlPlane};

use crate::{
    fixtures::AUTO,
    harness::{Harness, grant, start_shadow},
    sync_counts,
};

/// Raises upstream's client rate limits.
pub(crate) const FAST: [&str; 2] = ["--kube-api-qps=1000", "--kube-api-burst=1000"];

/// Slices written by upstream are taken over and handed back unchanged, and so are ours (I6).
#[tokio::test]
async fn i6_takeover_from_upstream_and_back_writes_nothing() {
    let harness = Harness::new(ControlPlane::builder()).await;
    assert!(harness.services >= 50);
    let manager = harness
        .control_plane
        .controller_manager(&CONTROLLERS, &FAST)
        .await
        .unwrap();
    sync_counts::wait_for_upstream(&manager, &harness).await;
    harness.start_phase("from upstream to us", Window::NoWrites).await;
    let writes = harness.slice_writes().await;
    assert_shadow_agrees(&harness).await;
    manager.stop().await.unwrap();
    let ours = harness.start_ours().await;
    sync_counts::wait_for_ours(&ours, &harness).await;
    harness.start_phase("hints are removed", Window::Any).await;
    assert_eq!(harness.slice_writes().await, writes);

    // Upstream sometimes removes the hints of Auto after a restart and adds them again (W19).
    without_auto(&harness).await;
    harness.start_phase("back to upstream", Window::NoWrites).await;
    let writes = harness.slice_writes().await;
    ours.stop().await;
    manager.start().await.unwrap();
    sync_counts::wait_for_upstream(&manager, &harness).await;
    harness
        .start_phase("all slices are deleted and recreated", Window::Any)
        .await;
    assert_eq!(harness.slice_writes().await, writes);
    manager.stop().await.unwrap();

    let ours = harness.start_ours().await;
    delete_all_slices(&harness).await;
    harness.start_phase("ours to upstream", Window::NoWrites).await;
    let writes = harness.slice_writes().await;
    ours.stop().await;
    manager.start().await.unwrap();
    sync_counts::wait_for_upstream(&manager, &harness).await;
    harness.assert_clean().await;
    assert_eq!(harness.slice_writes().await, writes);
}

/// Ours, beside upstream and in a dry run, would write nothing, so that no difference can appear later.
async fn assert_shadow_agrees(harness: &Harness) {
    let shadow = start_shadow(&harness.control_plane, &harness.accounts).await;
    sync_counts::wait_for_ours(&shadow, harness).await;
    for process in [shadow.services, shadow.mirroring] {
        let output = process.stop().await.unwrap();
        assert!(!output.contains("dry run: would write"), "{output}");
    }
    grant(&harness.control_plane, &harness.accounts, false).await;
}

async fn without_auto(harness: &Harness) {
    let services: Api<Service> = Api::default_namespaced(harness.client.clone());
    let patch = Patch::Merge(json!({"metadata": {"annotations": null}}));
    for service in services.list(&ListParams::default()).await.unwrap() {
        let name = service.name_any();
        if name.ends_with(&format!("-{AUTO}")) {
            services.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        }
    }
}

async fn delete_all_slices(harness: &Harness) {
    let slices: Api<EndpointSlice> = Api::default_namespaced(harness.client.clone());
    for slice in slices.list(&ListParams::default()).await.unwrap() {
        harness.recorder.record_manual_deletion(&slice);
        slices
            .delete(&slice.name_any(), &DeleteParams::default())
            .await
            .unwrap();
    }
}
