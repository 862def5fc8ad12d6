//! Mirrored slices.

use std::collections::BTreeSet;

use anyhow::Result;
use apisim::{faults::Match, request::Verb};
use kube::ResourceExt as _;
use serde_json::{Value, json};
use slice_core::well_known::MANAGED_BY_LABEL;

use super::{
    Failure,
    harness::Harness,
    publication::{FINALIZER, hold_and_delete, release},
};
use crate::scenario::{delete_slices, edit_slices, endpoints, service, with};

/// Number of Endpoints objects whose ports change.
const MANY: usize = 8;

pub(super) fn all() -> Vec<Failure> {
    vec![
        Failure::of_mirroring(
            "upstream_112143_mirrored_slice_is_recreated_after_restart",
            "a mirrored slice that is deleted after a restart is recreated",
            |harness| Box::pin(deleted_after_restart(harness)),
        ),
        Failure::of_mirroring(
            "upstream_125354_endpoints_recreated_during_restart_are_mirrored",
            "Endpoints that are recreated while the controller is down are mirrored when their old slice is collected",
            |harness| Box::pin(recreated_during_restart(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d1_ports_of_both_families_change_without_an_error",
            "slices are reused within their family when ports change",
            |harness| Box::pin(ports_of_both_families(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d2_relabelled_mirrored_slice_is_replaced",
            "a mirrored slice whose service-name or managed-by label changed does not block mirroring",
            |harness| Box::pin(relabelled_slice(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d3_ports_of_one_name_are_mirrored",
            "two subsets with one address and two unnamed ports are mirrored",
            |harness| Box::pin(ports_of_one_name(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d4_not_ready_wins_with_application_protocol",
            "an address that is ready and not ready on equal ports with an appProtocol is not ready",
            |harness| Box::pin(application_protocol(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d5_deleted_mirrored_slice_needs_no_deletion",
            "deleting a mirrored slice that is already deleted is no failed sync",
            |harness| Box::pin(already_deleted(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d8_terminating_mirrored_slice_blocks_no_endpoints",
            "a deleted mirrored slice that a finalizer holds blocks nothing, and keeps its finalizer",
            |harness| Box::pin(terminating_slice(harness)),
        ),
        Failure::of_mirroring(
            "upstream_d10_reserved_labels_cause_no_write",
            "Endpoints with a reserved slice label are not written again without a change",
            |harness| Box::pin(reserved_label(harness)),
        ),
        Failure::of_mirroring(
            "upstream_m94_foreign_finalizer_survives_an_update",
            "an update of a mirrored slice keeps finalizers of other clients",
            |harness| Box::pin(foreign_finalizer(harness)),
        ),
    ]
}

/// A Service without a selector.
fn selectorless(name: &str) -> Value {
    with(&service(name), "/spec/selector", Value::Null)
}

/// Endpoints with these subsets.
fn with_subsets(name: &str, subsets: Value) -> Value {
    with(&endpoints(name, &[], 80), "/subsets", subsets)
}

/// The Service `web` with one address, mirrored.
async fn publish(harness: &Harness<'_>) -> Result<()> {
    harness.apply(&selectorless("web")).await?;
    harness.apply(&endpoints("web", &["10.2.0.1"], 80)).await?;
    harness.wait_published("web", &["10.2.0.1"]).await
}

async fn deleted_after_restart(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    harness.stop_controller().await?;
    harness.resume_controller().await?;
    harness.change(&delete_slices("web")).await?;
    harness.expect_published("web", &["10.2.0.1"]).await
}

async fn recreated_during_restart(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    harness.stop_controller().await?;
    harness.delete("Endpoints", "web").await?;
    harness.apply(&endpoints("web", &["10.2.0.1"], 80)).await?;
    let uid = harness.uid("Endpoints", "web").await?;
    harness.resume_controller().await?;
    harness.collect_garbage("web", &uid).await?;
    harness.expect_published("web", &["10.2.0.1"]).await
}

async fn ports_of_both_families(harness: &mut Harness<'_>) -> Result<()> {
    let names: Vec<String> = (0..MANY).map(|number| format!("web-{number}")).collect();
    for name in &names {
        harness.apply(&selectorless(name)).await?;
        harness.apply(&endpoints(name, &["fd00:2::1"], 80)).await?;
    }
    for name in &names {
        harness.wait_published(name, &["fd00:2::1"]).await?;
    }
    let before = harness.failed_syncs().await?;
    for name in &names {
        harness.apply(&endpoints(name, &["10.2.0.1", "fd00:2::1"], 81)).await?;
    }
    for name in &names {
        harness.expect_published(name, &["10.2.0.1", "fd00:2::1"]).await?;
    }
    harness.expect_no_failed_sync_since(before).await
}

async fn relabelled_slice(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    harness.apply(&selectorless("api")).await?;
    harness.apply(&endpoints("api", &["10.2.1.1"], 80)).await?;
    harness.wait_published("api", &["10.2.1.1"]).await?;
    let elsewhere = json!({"metadata": {"labels": {"kubernetes.io/service-name": "elsewhere"}}});
    harness.change(&edit_slices("web", elsewhere)).await?;
    harness.expect_published("web", &["10.2.0.1"]).await?;
    let other = json!({"metadata": {"labels": {MANAGED_BY_LABEL: "example.com"}}});
    harness.change(&edit_slices("api", other)).await?;
    // The relabelled slice still has the address.
    harness.expect_published("api", &["10.2.1.1", "10.2.1.1"]).await
}

async fn ports_of_one_name(harness: &mut Harness<'_>) -> Result<()> {
    let subset = |port: u16| json!({"addresses": [{"ip": "10.2.0.1"}], "ports": [{"port": port}]});
    harness.apply(&selectorless("web")).await?;
    harness
        .apply(&with_subsets("web", json!([subset(80), subset(81)])))
        .await?;
    harness
        .expect("publication of both ports", async || {
            let slices = harness.live_slices("web").await?;
            let ports = slices.iter().flat_map(|slice| slice.ports.iter().flatten());
            let ports: BTreeSet<i32> = ports.filter_map(|port| port.port).collect();
            Ok(ports == BTreeSet::from([80, 81]))
        })
        .await
}

async fn application_protocol(harness: &mut Harness<'_>) -> Result<()> {
    let ports = json!([{"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "http"}]);
    let address = json!([{"ip": "10.2.0.1"}]);
    let subsets = json!([
        {"addresses": address, "ports": ports},
        {"notReadyAddresses": address, "ports": ports},
    ]);
    harness.apply(&selectorless("web")).await?;
    harness.apply(&with_subsets("web", subsets)).await?;
    harness
        .expect("single endpoint that is not ready", async || {
            let slices = harness.live_slices("web").await?;
            let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let ready = endpoints.map(|endpoint| endpoint.conditions.as_ref().and_then(|conditions| conditions.ready));
            Ok(ready.collect::<Vec<_>>() == [Some(false)])
        })
        .await
}

async fn already_deleted(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    harness.pass_slice_events().await?;
    let before = harness.failed_syncs().await?;
    let held = harness.hold_slices();
    harness.change(&delete_slices("web")).await?;
    harness.apply(&with_subsets("web", json!([]))).await?;
    let deletes = Match::verb(Verb::Delete)
        .resource("endpointslices")
        .namespace(&harness.namespace);
    harness
        .wait("deletion of the slice", async || {
            let mut deletes = harness.faults().requests(&deletes).into_iter();
            Ok(deletes.any(|delete| delete.status.is_some()))
        })
        .await?;
    held.remove();
    harness.wait_quiescent().await?;
    harness.expect_no_failed_sync_since(before).await
}

async fn terminating_slice(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    hold_and_delete(harness).await?;
    harness.apply(&endpoints("web", &["10.2.0.1", "10.2.0.2"], 80)).await?;
    harness.expect_published("web", &["10.2.0.1", "10.2.0.2"]).await?;
    let terminating = harness.slices("web").await?;
    if !terminating.iter().any(|slice| slice.finalizers() == [FINALIZER]) {
        return harness.failed("the controller removed the finalizer of a terminating slice".to_owned());
    }
    release(harness).await?;
    harness.expect_published("web", &["10.2.0.1", "10.2.0.2"]).await
}

async fn reserved_label(harness: &mut Harness<'_>) -> Result<()> {
    let label = json!({"kubernetes.io/service-name": "other"});
    harness.apply(&selectorless("web")).await?;
    harness
        .apply(&with(&endpoints("web", &["10.2.0.1"], 80), "/metadata/labels", label))
        .await?;
    harness.wait_published("web", &["10.2.0.1"]).await?;
    harness.wait_quiescent().await?;
    harness.stop_controller().await?;
    harness.faults().clear_log();
    harness.resume_controller().await?;
    match harness.writes().len() {
        0 => Ok(()),
        writes => harness.failed(format!("writes after a restart: {writes}")),
    }
}

async fn foreign_finalizer(harness: &mut Harness<'_>) -> Result<()> {
    publish(harness).await?;
    let finalizer = json!({"metadata": {"finalizers": [FINALIZER]}});
    harness.change(&edit_slices("web", finalizer)).await?;
    harness.apply(&endpoints("web", &["10.2.0.1", "10.2.0.2"], 80)).await?;
    harness.expect_published("web", &["10.2.0.1", "10.2.0.2"]).await?;
    let slices = harness.slices("web").await?;
    if slices.iter().any(|slice| slice.finalizers() != [FINALIZER]) {
        return harness.failed("the update removed the finalizer".to_owned());
    }
    Ok(())
}
