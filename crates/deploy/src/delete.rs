//! Removes what was installed. EndpointSlices remain as they are, for the next controller.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Namespace, Pod},
};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, ObjectMeta},
};
use manifests::Controller;
use tokio::time::{Instant, sleep};

use crate::{
    installed,
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
    let served = client.list_api_groups().await;
    let served = served.context("cannot read the APIs of the cluster; nothing was deleted")?;
    let mut objects = installable(controllers);
    installed::check_namespace(client, &objects).await?;
    objects.retain(|object| !kept.iter().any(|kept| kept.is(object)));
    // The Prometheus operator may not be installed, or not be visible to this user.
    objects.retain(|object| {
        let group = &object.resource.group;
        group.is_empty() || served.groups.iter().any(|served| served.name == *group)
    });
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
            wait_for_namespace(client, end).await?;
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
    let mut kept = Vec::new();
    for other in Controller::ALL.into_iter().filter(|other| !controllers.contains(other)) {
        if installed::deployment(client, other).await?.is_some() {
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

async fn wait_for_namespace(client: &Client, end: Instant) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    loop {
        let namespace = namespaces.get_opt(manifests::NAMESPACE).await;
        let Some(namespace) = namespace.context("cannot read namespaces")? else {
            return Ok(());
        };
        let conditions = namespace
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let obstacles = conditions.filter(|condition| condition.status == "True");
        let obstacles: Vec<_> = obstacles.filter_map(|condition| condition.message.as_deref()).collect();
        let obstacles = if obstacles.is_empty() {
            "kube-controller-manager has not deleted it".to_owned()
        } else {
            obstacles.join("; ")
        };
        wait_a_moment(&format!("the namespace {} ({obstacles})", manifests::NAMESPACE), end).await?;
    }
}

async fn wait_a_moment(what: &str, end: Instant) -> anyhow::Result<()> {
    if Instant::now() >= end {
        bail!("still there after the timeout: {what}; run the command again to delete the rest");
    }
    sleep(POLL_INTERVAL).await;
    Ok(())
}
