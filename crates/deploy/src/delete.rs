//! Removes what was installed. EndpointSlices remain as they are, for the next controller.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{apps::v1::Deployment, coordination::v1::Lease, core::v1::Pod};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, ObjectMeta},
};
use manifests::Controller;
use tokio::time::{Instant, sleep};

use crate::{
    objects::{Object, installable},
    print_object,
};

const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Deletes the objects of these controllers; those that both share only if the other one is not installed. The Deployments are
/// first, so that the controllers release their Leases while they still may.
pub(crate) async fn run(
    client: &Client,
    controllers: &[Controller],
    dry_run: bool,
    timeout: Duration,
) -> anyhow::Result<()> {
    let end = Instant::now() + timeout;
    let kept = kept(client, controllers).await?;
    let mut objects = installable(controllers);
    objects.retain(|object| !kept.iter().any(|kept| kept.is(object)));
    objects.reverse();
    let (deployments, others): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .partition(|object| object.resource.kind == "Deployment");
    let mut deleted = 0;
    for object in &deployments {
        deleted += usize::from(delete(client, object, dry_run).await?);
    }
    if !dry_run {
        wait_for_pods(client, controllers, end).await?;
    }
    let leases = controllers.iter().map(|&controller| lease(controller));
    for object in leases.chain(others) {
        deleted += usize::from(delete(client, &object, dry_run).await?);
        if !dry_run && object.resource.kind == "Namespace" {
            wait_until_gone(client, &object, end).await?;
        }
    }
    println!(
        "{deleted} objects {}; EndpointSlices remain",
        if dry_run { "would be deleted" } else { "deleted" }
    );
    if deleted > 0 && !dry_run {
        println!("The slices do not change until a controller writes them: turn the built-in ones on again.");
    }
    Ok(())
}

/// The objects of the other controllers that are installed.
async fn kept(client: &Client, controllers: &[Controller]) -> anyhow::Result<Vec<Object>> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let mut kept = Vec::new();
    for other in Controller::ALL.into_iter().filter(|other| !controllers.contains(other)) {
        let deployment = deployments.get_opt(other.name()).await;
        if deployment
            .context("cannot read Deployments; nothing was deleted")?
            .is_some()
        {
            kept.extend(installable(&[other]));
        }
    }
    Ok(kept)
}

/// The Lease that a controller has created.
fn lease(controller: Controller) -> Object {
    let metadata = ObjectMeta {
        name: Some(controller.name().to_owned()),
        namespace: Some(manifests::LEASE_NAMESPACE.to_owned()),
        ..ObjectMeta::default()
    };
    Object::new(DynamicObject {
        types: Some(kube::core::TypeMeta::resource::<Lease>()),
        metadata,
        data: serde_json::Value::Null,
    })
}

/// Returns whether the object was there.
async fn delete(client: &Client, object: &Object, dry_run: bool) -> anyhow::Result<bool> {
    let params = DeleteParams {
        dry_run,
        ..DeleteParams::background()
    };
    match object.api(client).delete(&object.name, &params).await {
        Ok(_) => {
            print_object(object, if dry_run { "would be deleted" } else { "deleted" });
            Ok(true)
        }
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
        Err(error) => {
            let error = anyhow::Error::new(error).context(format!("cannot delete {object}"));
            Err(error.context("some objects remain; run the command again to delete them"))
        }
    }
}

async fn wait_for_pods(client: &Client, controllers: &[Controller], end: Instant) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    for controller in controllers {
        let of_controller = ListParams::default().labels(&format!("{}={}", manifests::NAME_LABEL, controller.name()));
        loop {
            let left = pods.list_metadata(&of_controller).await;
            let left = left.with_context(|| format!("cannot list the pods of {}", controller.name()))?;
            if left.items.is_empty() {
                break;
            }
            let what = format!("{} pods of {}", left.items.len(), controller.name());
            wait_a_moment(&what, end).await?;
        }
    }
    Ok(())
}

async fn wait_until_gone(client: &Client, object: &Object, end: Instant) -> anyhow::Result<()> {
    loop {
        let found = object.api(client).get_opt(&object.name).await;
        if found.with_context(|| format!("cannot read {object}"))?.is_none() {
            return Ok(());
        }
        wait_a_moment(&object.to_string(), end).await?;
    }
}

async fn wait_a_moment(what: &str, end: Instant) -> anyhow::Result<()> {
    if Instant::now() >= end {
        bail!("{what} are not gone in time; run the command again to delete the rest");
    }
    sleep(POLL_INTERVAL).await;
    Ok(())
}
