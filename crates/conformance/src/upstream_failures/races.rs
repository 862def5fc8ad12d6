//! Writes and watch events that cross: late and lost responses, stale caches, deleted slices.

use anyhow::{Context as _, Result};
use apisim::{faults::Rule, request::Verb};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::{Failure, harness::Harness};
use crate::scenario::{pod, service, with};

pub(super) fn all() -> Vec<Failure> {
    vec![
        Failure::of_services(
            "upstream_141592_recreated_service_is_published",
            "a Service that is recreated while the response to a create is late gets its slices",
            |harness| Box::pin(recreated_service(harness)),
        ),
        Failure::of_services(
            "upstream_93374_100033_stale_cache_creates_no_second_slice",
            "two syncs before the watch shows the first slice create one slice",
            |harness| Box::pin(stale_cache(harness)),
        ),
        Failure::of_services(
            "upstream_r110a_lost_response_creates_no_second_slice",
            "a create whose response is lost, before the watch shows the slice, is not repeated under another name",
            |harness| Box::pin(lost_response(harness)),
        ),
        Failure::of_services(
            "upstream_90276_deleted_slice_needs_no_deletion",
            "deleting a slice that is already deleted is no failed sync",
            |harness| Box::pin(already_deleted(harness)),
        ),
    ]
}

async fn recreated_service(harness: &mut Harness<'_>) -> Result<()> {
    let node = harness.plain_node().await?;
    let creates = Rule::on(Verb::Create, "endpointslices").namespace(&harness.namespace);
    let held = harness.faults().add(creates.times(1).hold_answer());
    harness.apply(&service("web")).await?;
    harness
        .wait("slice", async || Ok(!harness.slices("web").await?.is_empty()))
        .await?;
    harness.delete("Service", "web").await?;
    harness.apply(&service("web")).await?;
    let uid = harness.uid("Service", "web").await?;
    harness.collect_garbage("web", &uid).await?;
    harness.pass_slice_events().await?;
    held.remove();
    harness.apply(&pod("web-1", "web", &node, &["10.1.0.1"])).await?;
    harness.apply(&pod("web-2", "web", &node, &["10.1.0.2"])).await?;
    harness.expect_published("web", &["10.1.0.1", "10.1.0.2"]).await
}

async fn stale_cache(harness: &mut Harness<'_>) -> Result<()> {
    let node = observe_pod(harness).await?;
    let held = harness.hold_slices();
    sync_twice(harness, &node).await?;
    held.remove();
    expect_one_slice(harness).await
}

async fn lost_response(harness: &mut Harness<'_>) -> Result<()> {
    let node = observe_pod(harness).await?;
    let held = harness.hold_slices();
    let creates = Rule::on(Verb::Create, "endpointslices").namespace(&harness.namespace);
    let lost = harness.faults().add(creates.times(1).drop_answer());
    sync_twice(harness, &node).await?;
    harness
        .wait("second create or update", async || {
            if harness.is_published("web", &["10.1.0.1", "10.1.0.2"]).await? {
                return Ok(true);
            }
            let of_web = harness.writes().into_iter().filter(|write| is_create_of(write, "web"));
            Ok(of_web.count() > 1)
        })
        .await?;
    lost.remove();
    held.remove();
    expect_one_slice(harness).await
}

/// Creates a pod of `web`, and waits until the controller has seen it: another Service publishes it.
async fn observe_pod(harness: &mut Harness<'_>) -> Result<String> {
    let node = harness.plain_node().await?;
    let selector = json!({"app": "web"});
    harness
        .apply(&with(&service("seen"), "/spec/selector", selector))
        .await?;
    harness.apply(&pod("web-1", "web", &node, &["10.1.0.1"])).await?;
    harness.wait_published("seen", &["10.1.0.1"]).await?;
    Ok(node)
}

/// Creates the Service `web` and, when it has a slice, a second pod; the controller handles later Services as well.
async fn sync_twice(harness: &Harness<'_>, node: &str) -> Result<()> {
    harness.apply(&service("web")).await?;
    harness
        .wait("slice", async || Ok(!harness.slices("web").await?.is_empty()))
        .await?;
    harness.apply(&pod("web-2", "web", node, &["10.1.0.2"])).await?;
    harness.apply(&service("later")).await?;
    harness
        .wait("slice", async || Ok(!harness.slices("later").await?.is_empty()))
        .await
}

/// Whether a request creates a slice of a Service.
fn is_create_of(write: &apisim::faults::Recorded, service: &str) -> bool {
    let body: Value = serde_json::from_slice(&write.body).unwrap_or_default();
    let label = &body["metadata"]["labels"]["kubernetes.io/service-name"];
    write.request.verb == Verb::Create && label == service
}

async fn expect_one_slice(harness: &Harness<'_>) -> Result<()> {
    harness.expect_published("web", &["10.1.0.1", "10.1.0.2"]).await?;
    harness.wait_quiescent().await?;
    let created = harness.created("web")?;
    if created.len() > 1 {
        let names: Vec<&String> = created.values().collect();
        return harness.failed(format!("{} slices were created: {names:?}", names.len()));
    }
    Ok(())
}

async fn already_deleted(harness: &mut Harness<'_>) -> Result<()> {
    let node = harness.plain_node().await?;
    // Each pod resolves the named port to another number, so each has a slice of its own.
    let with_port = |number: u16| {
        let pod = pod(&format!("web-{number}"), "web", &node, &[&*format!("10.1.0.{number}")]);
        let ports = json!([{"name": "main", "image": "image", "ports": [{"name": "http", "containerPort": number}]}]);
        with(&pod, "/spec/containers", ports)
    };
    harness
        .apply(&with(&service("web"), "/spec/ports/0/targetPort", json!("http")))
        .await?;
    harness.apply(&with_port(1)).await?;
    harness.apply(&with_port(2)).await?;
    harness.wait_published("web", &["10.1.0.1", "10.1.0.2"]).await?;
    harness.pass_slice_events().await?;
    let before = harness.failed_syncs().await?;
    let held = harness.hold_slices();
    let slices = harness.slices("web").await?;
    let of_second = slices.iter().find(|slice| {
        let mut endpoints = slice.endpoints.iter().flatten();
        endpoints.any(|endpoint| endpoint.addresses == ["10.1.0.2"])
    });
    let name = of_second.context("no slice has the second pod")?.name_any();
    harness.delete_slice(&name).await?;
    // A deletion would be two changes: the pod terminates first.
    harness
        .apply(&with(&with_port(2), "/metadata/labels/app", json!("other")))
        .await?;
    harness
        .wait("deletion of the slice", async || {
            let mut writes = harness.writes().into_iter();
            Ok(writes.any(|write| write.request.verb == Verb::Delete && write.status.is_some()))
        })
        .await?;
    held.remove();
    harness.expect_published("web", &["10.1.0.1"]).await?;
    harness.expect_no_failed_sync_since(before).await
}
