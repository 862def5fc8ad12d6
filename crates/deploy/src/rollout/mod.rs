//! Waits until the Deployments are rolled out and an instance of each leads, and reports what they wait for.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus, ReplicaSet},
    core::v1::{ContainerStatus, Event, Pod},
};
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use manifests::Controller;
use tokio::time::{Instant, sleep};

use crate::{
    commands::Commands,
    error,
    lease::{Leadership, wait_for_renewal},
    preflight::Access,
};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The kubelet waits until it pulls an image again. Before Kubernetes 1.32 the message does not contain the error.
const BACK_OFF: &str = "ImagePullBackOff";
/// Reasons of a waiting container whose image is not on the node.
const NO_IMAGE: [&str; 4] = ["ErrImagePull", BACK_OFF, "InvalidImageName", "ErrImageNeverPull"];
/// How long an image may be missing. A kubelet pulls again after 10 s, when the image may be there.
const NO_IMAGE_MAX: Duration = Duration::from_secs(15);

/// Annotation of a Deployment and its `ReplicaSets`: equal for the one of the current template.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// Label of a `ReplicaSet` and its pods.
const TEMPLATE_HASH: &str = "pod-template-hash";
/// How long an instance has to acquire the Lease: that of one that was ended by force expires after 15 s.
const LEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// The state of a rollout.
#[derive(Debug, PartialEq, Eq)]
enum Rollout {
    Complete,
    /// With the reasons why it takes time.
    InProgress(String),
    WithoutImage(MissingImage),
}

/// A node cannot pull the image.
#[derive(Debug, PartialEq, Eq)]
struct MissingImage {
    text: String,
    is_back_off: bool,
}

/// What the wait needs to be allowed, besides what the objects need.
pub(crate) fn access() -> [Access; 2] {
    let list = |group, resource| Access::new(["list"], group, resource, Some(manifests::NAMESPACE.to_owned()));
    [list("", "pods"), list("apps", "replicasets")]
}

/// What was read of a Deployment.
struct Observed {
    deployment: Deployment,
    replica_sets: Vec<ReplicaSet>,
    pods: Vec<Pod>,
    /// The last warning about each pod.
    warnings: BTreeMap<String, String>,
}

/// Waits until all Deployments are rolled out and, unless they are shadows, an instance of each leads. Prints every change of
/// their state.
pub(crate) async fn wait(
    client: &Client,
    controllers: &[Controller],
    shadow: bool,
    timeout: Duration,
    commands: &Commands,
) -> anyhow::Result<()> {
    let end = Instant::now() + timeout;
    for controller in controllers {
        wait_for(client, controller.name(), end, commands).await?;
    }
    if !shadow {
        for controller in controllers {
            wait_for_leader(client, controller.name(), commands).await?;
        }
    }
    Ok(())
}

async fn wait_for(client: &Client, name: &str, end: Instant, commands: &Commands) -> anyhow::Result<()> {
    let mut printed = String::new();
    // Since when, and the error.
    let mut without_image: Option<(Instant, String)> = None;
    loop {
        let rollout = match observe(client, name).await {
            Ok(observed) => state(&observed, commands),
            Err(error) if error::is_denied(&error) => return Err(error.context(remains(commands))),
            // An API server may restart meanwhile.
            Err(error) => Rollout::InProgress(error::line(&error)),
        };
        let now = Instant::now();
        let progress = match rollout {
            Rollout::Complete => {
                println!("{name}: rolled out");
                return Ok(());
            }
            Rollout::InProgress(progress) => {
                without_image = None;
                progress
            }
            Rollout::WithoutImage(MissingImage { text, is_back_off }) => {
                let (since, error) = without_image.get_or_insert_with(|| (now, text.clone()));
                if !is_back_off {
                    error.clone_from(&text);
                }
                if now - *since >= NO_IMAGE_MAX {
                    bail!("{name}: {error}. {} {}", pull_again(name, commands), remains(commands));
                }
                text
            }
        };
        if progress != printed {
            println!("{name}: {progress}");
            printed = progress;
        }
        if now >= end {
            bail!("{name} is not rolled out in time: {printed}. {}", remains(commands));
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn observe(client: &Client, name: &str) -> anyhow::Result<Observed> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let deployment = deployments.get(name).await;
    let deployment = deployment.with_context(|| format!("cannot read the Deployment {name}"))?;
    let of_deployment = ListParams::default().labels(&format!("{}={name}", manifests::NAME_LABEL));
    let replica_sets: Api<ReplicaSet> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let replica_sets = replica_sets.list(&of_deployment).await;
    let replica_sets = replica_sets.with_context(|| format!("cannot list the ReplicaSets of {name}"))?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let pods = pods.list(&of_deployment).await;
    let pods = pods.with_context(|| format!("cannot list the pods of {name}"))?;
    let events: Api<Event> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let warnings = ListParams::default().fields("type=Warning,involvedObject.kind=Pod");
    // They only add reasons, and the user may not be allowed to read them.
    let events = events
        .list(&warnings)
        .await
        .map_or_else(|_| Vec::new(), |events| events.items);
    Ok(Observed {
        deployment,
        replica_sets: replica_sets.items,
        pods: pods.items,
        warnings: warnings_by_pod(events),
    })
}

fn warnings_by_pod(mut events: Vec<Event>) -> BTreeMap<String, String> {
    events.sort_by_key(|event| event.last_timestamp.clone());
    let by_pod = events.into_iter().filter_map(|event| {
        let (reason, message) = (event.reason?, event.message?);
        Some((event.involved_object.name?, format!("{reason}: {message}")))
    });
    by_pod.collect()
}

/// A standby is ready as well, so that a complete rollout does not show that slices are written.
async fn wait_for_leader(client: &Client, name: &str, commands: &Commands) -> anyhow::Result<()> {
    let waiting = format!("{name}: waiting until an instance acquires its Lease");
    match wait_for_renewal(client, manifests::LEASE_NAMESPACE, name, LEADER_TIMEOUT, &waiting).await? {
        Leadership::Held(leader) => {
            println!("{name}: {} leads", leader.identity);
            Ok(())
        }
        Leadership::NotRenewed | Leadership::Missing => bail!(
            "{name} is rolled out, but no instance has acquired its Lease in time, so that no slice is written: `{}` shows why",
            commands.kubectl_in_namespace(&format!("logs deployment/{name}"))
        ),
    }
}

fn remains(commands: &Commands) -> String {
    format!(
        "All objects are applied, and the rollout goes on when the cause is gone; `{}` shows it, `{}` removes them",
        commands.kubectl_in_namespace("get pods"),
        commands.delete()
    )
}

/// Between attempts, a kubelet waits for up to 5 minutes.
fn pull_again(name: &str, commands: &Commands) -> String {
    let delete = format!("delete pods --selector {}={name}", manifests::NAME_LABEL);
    format!(
        "When the image is there, `{}` makes the nodes pull it at once.",
        commands.kubectl_in_namespace(&delete)
    )
}

fn state(observed: &Observed, commands: &Commands) -> Rollout {
    let Observed {
        deployment,
        replica_sets,
        pods,
        warnings,
    } = observed;
    let name = deployment.name_any();
    let desired = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let empty = DeploymentStatus::default();
    let status = deployment.status.as_ref().unwrap_or(&empty);
    if status.observed_generation != deployment.metadata.generation {
        return Rollout::InProgress("kube-controller-manager has not observed the Deployment; does it run?".to_owned());
    }
    let updated = status.updated_replicas.unwrap_or(0);
    let available = status.available_replicas.unwrap_or(0);
    if updated == desired && available == desired && status.replicas == Some(desired) {
        return Rollout::Complete;
    }
    // Pods of an earlier template, and pods that terminate, do not count. An admission webhook may have changed the others, so that
    // their content shows no template.
    let current = template_hash(deployment, replica_sets);
    let pods = pods.iter().filter(|pod| {
        current.is_some() && pod.labels().get(TEMPLATE_HASH) == current && pod.metadata.deletion_timestamp.is_none()
    });
    if let Some(missing) = pods.clone().find_map(|pod| missing_image(pod, &name)) {
        return Rollout::WithoutImage(missing);
    }
    let rejected = status.conditions.iter().flatten();
    let rejected = rejected.filter(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True");
    let mut reasons: Vec<_> = rejected.filter_map(|condition| condition.message.clone()).collect();
    reasons.extend(pods.filter_map(|pod| waits_for(pod, &name, warnings, commands)));
    let counts = format!("{updated} of {desired} replicas updated, {available} available");
    let progress = [vec![counts], reasons].concat().join("; ");
    Rollout::InProgress(error::in_one_line(&progress))
}

/// The hash of the current template of a Deployment, by which its pods are labelled.
fn template_hash<'a>(deployment: &Deployment, replica_sets: &'a [ReplicaSet]) -> Option<&'a String> {
    let revision = deployment.annotations().get(REVISION)?;
    let current = replica_sets
        .iter()
        .find(|replica_set| replica_set.annotations().get(REVISION) == Some(revision))?;
    current.labels().get(TEMPLATE_HASH)
}

/// The status of the container of our program; a webhook may have added others.
fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find(|status| status.name == name)
}

fn missing_image(pod: &Pod, name: &str) -> Option<MissingImage> {
    let container = container(pod, name)?;
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| NO_IMAGE.contains(reason))?;
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .unwrap_or("unknown");
    let message = error::in_one_line(waiting.message.as_deref().unwrap_or_default());
    Some(MissingImage {
        text: format!(
            "the node {node} cannot pull the image {} ({reason}: {message})",
            container.image
        ),
        is_back_off: reason == BACK_OFF,
    })
}

/// Why a pod is not ready.
fn waits_for(
    pod: &Pod,
    container_name: &str,
    warnings: &BTreeMap<String, String>,
    commands: &Commands,
) -> Option<String> {
    let name = pod.name_any();
    let status = pod.status.as_ref()?;
    let container = container(pod, container_name);
    if container.is_some_and(|container| container.ready) {
        return None;
    }
    if container
        .and_then(|container| container.state.as_ref()?.running.as_ref())
        .is_some()
    {
        return Some(format!(
            "pod {name} runs, but is not ready: `{}` shows why",
            commands.kubectl_in_namespace(&format!("logs {name}"))
        ));
    }
    let conditions = status.conditions.iter().flatten();
    let unscheduled = conditions
        .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
        .find_map(|condition| condition.message.clone());
    let rejected = || Some(format!("{}: {}", status.reason.as_ref()?, status.message.as_ref()?));
    let reason = unscheduled
        .or_else(rejected)
        .or_else(|| container_waits_for(container?))
        .or_else(|| warnings.get(&name).cloned())
        .unwrap_or_else(|| without_reason(pod));
    Some(format!("pod {name}: {reason}"))
}

/// As before it is scheduled, while its image is pulled, or if the scheduler or the kubelet does not run.
fn without_reason(pod: &Pod) -> String {
    match pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) {
        Some(node) => format!("the node {node} has not started it yet"),
        None => "not scheduled yet".to_owned(),
    }
}

/// Why a container does not run.
fn container_waits_for(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    let waiting = state.waiting.as_ref()?;
    let reason = waiting
        .reason
        .as_deref()
        .filter(|&reason| reason != "ContainerCreating")?;
    let message = waiting.message.as_deref().unwrap_or_default();
    let last = container
        .last_state
        .as_ref()
        .and_then(|state| state.terminated.as_ref());
    Some(match last {
        Some(last) => {
            let output = last.message.as_deref().unwrap_or_default().trim();
            format!("{reason}: it ended with exit code {}: {output}", last.exit_code)
        }
        None => format!("{reason}: {message}"),
    })
}

#[cfg(test)]
mod tests;
