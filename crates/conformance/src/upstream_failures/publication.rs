//! Services whose slices were not published, not repaired or written needlessly.

use anyhow::Result;
use apisim::request::Verb;
use kube::ResourceExt as _;
use serde_json::{Value, json};
use slice_core::well_known::MANAGED_BY_LABEL;
use testenv::{Webhook, WebhookMode};

use super::{Failure, harness::Harness};
use crate::scenario::{delete_slices, edit_slices, pod, service, with};

const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";
/// A finalizer of another client.
pub(super) const FINALIZER: &str = "example.com/hold";
const ANNOTATION: &str = "example.com/note";

pub(super) fn all() -> Vec<Failure> {
    vec![
        Failure::of_services(
            "upstream_107927_missing_node_blocks_no_other_pod",
            "a pod on a Node that does not exist does not block other pods, and is published with its Node",
            |harness| Box::pin(missing_node(harness)),
        ),
        Failure::of_services(
            "upstream_108267_foreign_metadata_survives_scaling_to_zero",
            "a slice keeps finalizers and annotations of other clients when its last pod goes",
            |harness| Box::pin(foreign_metadata(harness)),
        ),
        Failure::of_services(
            "upstream_108779_terminating_slice_blocks_no_service",
            "a deleted slice that a finalizer holds does not block its Service",
            |harness| Box::pin(terminating_slice(harness)),
        ),
        Failure::of_services(
            "upstream_127370_126578_update_without_effect_blocks_nothing",
            "an update that changes nothing, because a webhook reverts it, does not block the next one",
            |harness| Box::pin(update_without_effect(harness)),
        ),
        Failure::of_services(
            "upstream_136502_headless_service_without_ports_is_not_rewritten",
            "a headless Service without ports: no write after a restart, one for a new pod",
            |harness| Box::pin(headless_without_ports(harness)),
        ),
        Failure::of_services(
            "upstream_w1_relabelled_slice_is_replaced",
            "a slice whose service-name or managed-by label changed does not block its Service",
            |harness| Box::pin(relabelled_slice(harness)),
        ),
        Failure::of_services(
            "upstream_w2_deleted_slice_is_recreated_after_restart",
            "a slice of a Service with a selector that is deleted after a restart is recreated",
            |harness| Box::pin(deleted_after_restart(harness)),
        ),
        Failure::of_services(
            "upstream_x2_failed_pod_is_removed",
            "a pod that fails while it is not ready is removed (publishNotReadyAddresses)",
            |harness| Box::pin(failed_pod(harness)),
        ),
    ]
}

/// A node, and the Service `web` with one pod, published. The Service is created first here and elsewhere, so that each later
/// change is one that the oracle expects a write for, whatever the order in which the watches deliver them.
pub(super) async fn publish(harness: &mut Harness<'_>) -> Result<String> {
    let node = harness.plain_node().await?;
    harness.apply(&service("web")).await?;
    harness.apply(&pod("web-1", "web", &node, &["10.1.0.1"])).await?;
    harness.wait_published("web", &["10.1.0.1"]).await?;
    Ok(node)
}

async fn missing_node(harness: &mut Harness<'_>) -> Result<()> {
    let node = harness.plain_node().await?;
    let missing = format!("{}-late", harness.namespace);
    harness.apply(&service("web")).await?;
    harness.apply(&pod("web-1", "web", &node, &["10.1.0.1"])).await?;
    harness.apply(&pod("web-2", "web", &missing, &["10.1.0.2"])).await?;
    harness.expect_published("web", &["10.1.0.1"]).await?;
    harness.apply(&pod("web-3", "web", &node, &["10.1.0.3"])).await?;
    harness.expect_published("web", &["10.1.0.1", "10.1.0.3"]).await?;
    harness.node("late", "zone-a", "2", false).await?;
    let all = ["10.1.0.1", "10.1.0.2", "10.1.0.3"];
    harness.expect_published("web", &all).await
}

async fn foreign_metadata(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    let metadata = json!({"metadata": {"finalizers": [FINALIZER], "annotations": {ANNOTATION: "kept"}}});
    harness.change(&edit_slices("web", metadata)).await?;
    harness.delete("Pod", "web-1").await?;
    harness
        .expect("slice without endpoints", async || {
            let slices = harness.live_slices("web").await?;
            Ok(slices.len() == 1 && slices[0].endpoints.iter().flatten().count() == 0)
        })
        .await?;
    for slice in harness.slices("web").await? {
        let (name, finalizers) = (slice.name_any(), slice.finalizers());
        if finalizers != [FINALIZER] || !slice.annotations().contains_key(ANNOTATION) {
            let annotations = slice.annotations();
            return harness.failed(format!(
                "{name} has the finalizers {finalizers:?} and the annotations {annotations:?}"
            ));
        }
    }
    Ok(())
}

async fn terminating_slice(harness: &mut Harness<'_>) -> Result<()> {
    let node = publish(harness).await?;
    hold_and_delete(harness).await?;
    harness.apply(&pod("web-2", "web", &node, &["10.1.0.2"])).await?;
    harness.expect_published("web", &["10.1.0.1", "10.1.0.2"]).await?;
    release(harness).await?;
    harness.expect_published("web", &["10.1.0.1", "10.1.0.2"]).await
}

/// Deletes the slices of `web`, which a finalizer holds.
pub(super) async fn hold_and_delete(harness: &Harness<'_>) -> Result<()> {
    let finalizer = json!({"metadata": {"finalizers": [FINALIZER]}});
    harness.change(&edit_slices("web", finalizer)).await?;
    harness.change(&delete_slices("web")).await
}

/// Removes the finalizers of the slices of `web`.
pub(super) async fn release(harness: &Harness<'_>) -> Result<()> {
    let none = json!({"metadata": {"finalizers": Value::Null}});
    harness.change(&edit_slices("web", none)).await
}

async fn update_without_effect(harness: &mut Harness<'_>) -> Result<()> {
    let node = harness.plain_node().await?;
    let labelled = |team: &str| with(&service("web"), "/metadata/labels", json!({"team": team}));
    harness.apply(&labelled("before")).await?;
    harness.apply(&pod("web-1", "web", &node, &["10.1.0.1"])).await?;
    harness.wait_published("web", &["10.1.0.1"]).await?;
    // Without the trigger time of the pod, which an update for a label removes.
    harness.apply(&labelled("first")).await?;
    harness
        .wait("update of the label", async || {
            let slices = harness.slices("web").await?;
            Ok(slices.iter().all(|slice| slice.labels()["team"] == "first"))
        })
        .await?;
    let webhook = Webhook::mutating(harness.control_plane, &harness.namespace).await?;
    webhook.set_mode(WebhookMode::set_label("team", "first"));
    harness.faults().clear_log();
    harness.apply(&labelled("second")).await?;
    harness
        .wait("update", async || {
            let mut writes = harness.writes().into_iter();
            Ok(writes.any(|write| write.request.verb == Verb::Update && write.status.is_some()))
        })
        .await?;
    webhook.set_mode(WebhookMode::Allow);
    harness.apply(&pod("web-2", "web", &node, &["10.1.0.2"])).await?;
    harness.expect_published("web", &["10.1.0.1", "10.1.0.2"]).await?;
    // Until its server ends, the webhook must respond to all writes.
    harness.wait_quiescent().await
}

async fn headless_without_ports(harness: &mut Harness<'_>) -> Result<()> {
    let node = harness.plain_node().await?;
    let headless = with(&service("web"), "/spec/clusterIP", json!("None"));
    harness.apply(&with(&headless, "/spec/ports", json!([]))).await?;
    harness.apply(&pod("web-1", "web", &node, &["10.1.0.1"])).await?;
    harness.wait_published("web", &["10.1.0.1"]).await?;
    harness.wait_quiescent().await?;
    harness.stop_controller().await?;
    harness.faults().clear_log();
    harness.resume_controller().await?;
    let after_restart = harness.writes().len();
    harness.apply(&pod("web-2", "web", &node, &["10.1.0.2"])).await?;
    harness.expect_published("web", &["10.1.0.1", "10.1.0.2"]).await?;
    harness.wait_quiescent().await?;
    let after_new_pod = harness.writes().len() - after_restart;
    if (after_restart, after_new_pod) != (0, 1) {
        return harness.failed(format!(
            "{after_restart} writes after a restart, {after_new_pod} for a new pod"
        ));
    }
    Ok(())
}

async fn relabelled_slice(harness: &mut Harness<'_>) -> Result<()> {
    let node = publish(harness).await?;
    harness.apply(&service("api")).await?;
    harness.apply(&pod("api-1", "api", &node, &["10.1.1.1"])).await?;
    harness.wait_published("api", &["10.1.1.1"]).await?;
    let elsewhere = json!({"metadata": {"labels": {SERVICE_NAME_LABEL: "elsewhere"}}});
    harness.change(&edit_slices("web", elsewhere)).await?;
    harness.expect_published("web", &["10.1.0.1"]).await?;
    let other = json!({"metadata": {"labels": {MANAGED_BY_LABEL: "example.com"}}});
    harness.change(&edit_slices("api", other)).await?;
    // The relabelled slice still has the address.
    harness.expect_published("api", &["10.1.1.1", "10.1.1.1"]).await
}

async fn deleted_after_restart(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    harness.stop_controller().await?;
    harness.resume_controller().await?;
    harness.change(&delete_slices("web")).await?;
    harness.expect_published("web", &["10.1.0.1"]).await
}

async fn failed_pod(harness: &mut Harness<'_>) -> Result<()> {
    let node = harness.plain_node().await?;
    let not_ready = with(
        &pod("web-1", "web", &node, &["10.1.0.1"]),
        "/status/conditions/0/status",
        json!("False"),
    );
    let service = with(&service("web"), "/spec/publishNotReadyAddresses", json!(true));
    harness.apply(&service).await?;
    harness.apply(&not_ready).await?;
    harness.wait_published("web", &["10.1.0.1"]).await?;
    // Syncs because of the new slice have ended then.
    harness.pass_slice_events().await?;
    harness
        .apply(&with(&not_ready, "/status/phase", json!("Failed")))
        .await?;
    harness
        .expect("removal of the pod", async || harness.is_published("web", &[]).await)
        .await
}
