//! Removes what was installed. EndpointSlices remain as they are, for the next controller.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Namespace, PersistentVolumeClaim, Pod, Service},
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta},
};
use manifests::{Controller, PART_OF, PART_OF_LABEL};
use tokio::time::{Instant, sleep};

use crate::{
    built_in,
    commands::Commands,
    error, installed,
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
    commands: &Commands,
) -> anyhow::Result<()> {
    let end = Instant::now() + timeout;
    installed::check_installer(client).await?;
    let (objects, foreign) = to_delete(client, controllers).await?;
    let objects = existing(client, objects).await?;
    if !foreign.is_empty() {
        println!(
            "the namespace {} remains: it has {}",
            manifests::NAMESPACE,
            foreign.join(", ")
        );
    }
    if dry_run {
        for object in &objects {
            print_object(object, "would be deleted");
        }
    } else {
        delete_all(client, controllers, &objects, end, commands).await?;
        delete_checks(client, commands).await?;
    }
    println!(
        "{} objects {}deleted; EndpointSlices remain, but for those of the metrics Services",
        objects.len(),
        if dry_run { "would be " } else { "" }
    );
    Ok(())
}

/// Deletes what earlier checks for built-in controllers have left. A user without this permission has checked nothing.
async fn delete_checks(client: &Client, commands: &Commands) -> anyhow::Result<()> {
    match built_in::delete_objects(client, commands).await {
        Err(error) if error::is_denied(&error) => Ok(()),
        result => result,
    }
}

async fn delete_all(
    client: &Client,
    controllers: &[Controller],
    objects: &[Object],
    end: Instant,
    commands: &Commands,
) -> anyhow::Result<()> {
    let writers = installed::writers(client, controllers).await?;
    let (deployments, others): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| object.resource.kind == "Deployment");
    for object in deployments {
        delete(client, object).await?;
    }
    wait_for_pods(client, controllers, end, commands).await?;
    for writer in writers {
        println!(
            "{} does not run any more: its slices do not change until the built-in controller is turned on",
            writer.name()
        );
    }
    for object in others {
        delete(client, object).await?;
        if object.resource.kind == "Namespace" {
            wait_for_namespace(client, end).await?;
        }
    }
    Ok(())
}

/// What may exist of these controllers, in the order in which it is deleted, and the objects of others for which the namespace
/// remains.
async fn to_delete(client: &Client, controllers: &[Controller]) -> anyhow::Result<(Vec<Object>, Vec<String>)> {
    let kept = kept(client, controllers).await?;
    let served = client.list_api_groups().await;
    let served = served.context("nothing was deleted: cannot read the APIs of the cluster")?;
    // The Prometheus operator may not be installed, or not be visible to this user.
    let is_served = |object: &Object| {
        let group = &object.resource.group;
        group.is_empty() || served.groups.iter().any(|served| served.name == *group)
    };
    let mut objects = installable(controllers);
    let is_kept = |object: &Object| kept.iter().any(|kept| kept.is(object));
    objects.retain(|object| is_served(object) && !is_kept(object));
    let mut foreign = Vec::new();
    if kept.is_empty() {
        foreign = foreign_objects(client).await?;
        if foreign.is_empty() {
            // The others are deleted with it, so that no permission for each of them is needed.
            let is_first = |object: &Object| object.resource.kind == "Deployment";
            objects.retain(|object| object.namespace.as_deref() != Some(manifests::NAMESPACE) || is_first(object));
        } else {
            objects.retain(|object| object.resource.kind != "Namespace");
        }
    }
    objects.reverse();
    let leases = controllers.iter().map(|&controller| lease(controller));
    Ok((leases.chain(objects).collect(), foreign))
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

/// Objects of others in our namespace, which would be deleted with it. It remains if the user may not list them.
async fn foreign_objects(client: &Client) -> anyhow::Result<Vec<String>> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = namespaces.get_opt(manifests::NAMESPACE).await;
    if namespace
        .context("nothing was deleted: cannot read namespaces")?
        .is_none()
    {
        return Ok(Vec::new());
    }
    let others = ListParams::default().labels(&format!("{PART_OF_LABEL}!={PART_OF}"));
    let mut found = Vec::new();
    for resource in [
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<Pod>(&()),
        ApiResource::erase::<PersistentVolumeClaim>(&()),
    ] {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), manifests::NAMESPACE, &resource);
        match api.list_metadata(&others).await {
            Ok(objects) => {
                let names = objects.iter().map(ResourceExt::name_any);
                found.extend(names.map(|name| format!("the {} {name}", resource.kind)));
            }
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                found.push(format!("perhaps {}, which this user may not list", resource.plural));
            }
            Err(error) => {
                let action = format!(
                    "nothing was deleted: cannot list {} in {}",
                    resource.plural,
                    manifests::NAMESPACE
                );
                return Err(error).context(action);
            }
        }
    }
    Ok(found)
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

/// Those of the objects that exist, if the API server would delete them all. Some may never have been installed, as those for
/// monitoring, so that no permission for them is needed.
async fn existing(client: &Client, objects: Vec<Object>) -> anyhow::Result<Vec<Object>> {
    let try_delete = DeleteParams {
        dry_run: true,
        ..DeleteParams::background()
    };
    let mut existing = Vec::new();
    let mut unknown = Vec::new();
    let mut rejected = Vec::new();
    for object in objects {
        let api = object.api(client);
        match api.get_metadata_opt(&object.name).await {
            Ok(Some(_)) => {}
            Ok(None) => continue,
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                unknown.push(object.to_string());
                continue;
            }
            Err(error) => return Err(error).context(format!("nothing was deleted: cannot read {object}")),
        }
        match api.delete(&object.name, &try_delete).await {
            Ok(_) => existing.push(object),
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => rejected.push((object.to_string(), error)),
        }
    }
    let (names, errors): (Vec<_>, Vec<_>) = rejected.into_iter().unzip();
    // The message names the permission that the user lacks.
    if let Some(first) = errors.into_iter().next() {
        return Err(first).context(format!("nothing was deleted: cannot delete {}", names.join(", ")));
    }
    if !unknown.is_empty() {
        println!(
            "not deleted if they exist, since this user may not read them: {}",
            unknown.join(", ")
        );
    }
    Ok(existing)
}

async fn delete(client: &Client, object: &Object) -> anyhow::Result<()> {
    match object
        .api(client)
        .delete(&object.name, &DeleteParams::background())
        .await
    {
        Ok(_) => print_object(object, "deleted"),
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        Err(error) => {
            let error = anyhow::Error::new(error).context(format!("cannot delete {object}"));
            return Err(error.context("some objects remain; run the command again to delete them"));
        }
    }
    Ok(())
}

async fn wait_for_pods(
    client: &Client,
    controllers: &[Controller],
    end: Instant,
    commands: &Commands,
) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let mut wait = Wait::new(end);
    // Only its kubelet removes a pod.
    let advice = format!(
        "if the node of a pod is gone for good, delete the node (`{}`) or the pod (`{}`), then ",
        commands.kubectl("delete node NODE"),
        commands.kubectl_in_namespace("delete pod --force POD")
    );
    for controller in controllers {
        let of_controller = ListParams::default().labels(&format!("{}={}", manifests::NAME_LABEL, controller.name()));
        loop {
            let left = pods.list(&of_controller).await;
            let left = left.with_context(|| format!("cannot list the pods of {}", controller.name()));
            let left: Vec<_> = match left {
                Ok(left) if left.items.is_empty() => break,
                Ok(left) => left.iter().map(pod_and_node).collect(),
                Err(error) => vec![error::line(&error)],
            };
            wait.next(&left.join(", "), &advice).await?;
        }
    }
    Ok(())
}

fn pod_and_node(pod: &Pod) -> String {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    format!("the pod {} on the node {}", pod.name_any(), node.unwrap_or("none"))
}

async fn wait_for_namespace(client: &Client, end: Instant) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut wait = Wait::new(end);
    loop {
        let namespace = namespaces.get_opt(manifests::NAMESPACE).await;
        let reasons = match namespace.context("cannot read namespaces") {
            Ok(None) => return Ok(()),
            Ok(Some(namespace)) => reasons(&namespace),
            Err(error) => error::line(&error),
        };
        wait.next(&format!("the namespace {} ({reasons})", manifests::NAMESPACE), "")
            .await?;
    }
}

/// What prevents the deletion of a namespace.
fn reasons(namespace: &Namespace) -> String {
    let status = namespace.status.iter();
    let conditions = status.flat_map(|status| status.conditions.iter().flatten());
    let conditions = conditions.filter(|condition| condition.status == "True");
    let reasons: Vec<_> = conditions
        .filter_map(|condition| condition.message.as_deref())
        .collect();
    if reasons.is_empty() {
        "kube-controller-manager has not deleted it yet".to_owned()
    } else {
        reasons.join("; ")
    }
}

/// A wait for objects that are being deleted. Prints every change of what is left.
struct Wait {
    end: Instant,
    printed: String,
}

impl Wait {
    fn new(end: Instant) -> Self {
        Self {
            end,
            printed: String::new(),
        }
    }

    /// `advice` precedes what to do after the timeout.
    async fn next(&mut self, left: &str, advice: &str) -> anyhow::Result<()> {
        if Instant::now() >= self.end {
            bail!("still there after the timeout: {left}; {advice}run the command again to delete the rest");
        }
        if left != self.printed {
            println!("waiting for {left}");
            left.clone_into(&mut self.printed);
        }
        sleep(POLL_INTERVAL).await;
        Ok(())
    }
}
