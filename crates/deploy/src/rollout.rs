//! Waits until the Deployments are rolled out, and reports what they wait for.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus},
    core::v1::{ContainerStatus, Pod},
};
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use manifests::Controller;
use tokio::time::{Instant, sleep};

use crate::installed;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Reasons of a waiting container whose image is not on the node.
const NO_IMAGE: [&str; 4] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
];
/// How long an image may be missing. A kubelet pulls again after 10 s, when the image may be there.
const NO_IMAGE_MAX: Duration = Duration::from_secs(15);

/// The state of a rollout.
#[derive(Debug, PartialEq, Eq)]
enum Rollout {
    Complete,
    /// With the reasons why it takes time.
    InProgress(String),
    /// A node cannot pull the image.
    WithoutImage(String),
}

/// Waits until all Deployments are rolled out. Prints every change of their state.
pub(crate) async fn wait(client: &Client, controllers: &[Controller], timeout: Duration) -> anyhow::Result<()> {
    let end = Instant::now() + timeout;
    for controller in controllers {
        wait_for(client, controller.name(), end).await?;
    }
    Ok(())
}

async fn wait_for(client: &Client, name: &str, end: Instant) -> anyhow::Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let of_deployment = ListParams::default().labels(&format!("{}={name}", manifests::NAME_LABEL));
    let mut printed = String::new();
    let mut without_image_since = None;
    loop {
        let deployment = deployments.get(name).await;
        let deployment = deployment.with_context(|| format!("cannot read the Deployment {name}"))?;
        let pods = pods.list(&of_deployment).await;
        let pods = pods.with_context(|| format!("cannot list the pods of {name}"))?.items;
        let now = Instant::now();
        let progress = match state(&deployment, &pods) {
            Rollout::Complete => {
                println!("{name}: rolled out");
                return Ok(());
            }
            Rollout::InProgress(progress) => {
                without_image_since = None;
                progress
            }
            Rollout::WithoutImage(reason) => {
                let since = *without_image_since.get_or_insert(now);
                if now - since >= NO_IMAGE_MAX {
                    bail!("{name}: {reason}. {} {}", pull_again(name), remains());
                }
                reason
            }
        };
        if progress != printed {
            println!("{name}: {progress}");
            printed = progress;
        }
        if now >= end {
            bail!("{name} is not rolled out in time: {printed}. {}", remains());
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn remains() -> String {
    format!(
        "All objects are applied, and the rollout goes on when the cause is gone; `kubectl --namespace {} get pods` shows it, \
         `cargo xtask deploy --delete` removes everything",
        manifests::NAMESPACE
    )
}

/// Between attempts, a kubelet waits for up to 5 minutes.
fn pull_again(name: &str) -> String {
    format!(
        "When the image is there, `kubectl --namespace {} delete pods --selector {}={name}` makes the nodes pull it at once.",
        manifests::NAMESPACE,
        manifests::NAME_LABEL
    )
}

fn state(deployment: &Deployment, pods: &[Pod]) -> Rollout {
    let desired = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let empty = DeploymentStatus::default();
    let status = deployment.status.as_ref().unwrap_or(&empty);
    let observed = status.observed_generation == deployment.metadata.generation;
    let updated = status.updated_replicas.unwrap_or(0);
    let available = status.available_replicas.unwrap_or(0);
    if observed && updated == desired && available == desired && status.replicas == Some(desired) {
        return Rollout::Complete;
    }
    // Pods of an earlier template, or pods that terminate, are no obstacle.
    let image = installed::image(deployment);
    let pods = pods
        .iter()
        .filter(|pod| observed && pod.metadata.deletion_timestamp.is_none() && pod_image(pod) == image);
    if let Some(reason) = pods.clone().find_map(missing_image) {
        return Rollout::WithoutImage(reason);
    }
    let rejected = status.conditions.iter().flatten();
    let rejected = rejected.filter(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True");
    let mut reasons: Vec<_> = rejected.filter_map(|condition| condition.message.clone()).collect();
    reasons.extend(pods.filter_map(waits_for));
    let counts = format!("{updated} of {desired} replicas updated, {available} available");
    Rollout::InProgress([vec![counts], reasons].concat().join("; "))
}

fn pod_image(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.containers.first()?.image.as_deref()
}

/// The status of the only container of a pod.
fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

fn missing_image(pod: &Pod) -> Option<String> {
    let container = container(pod)?;
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| NO_IMAGE.contains(reason))?;
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .unwrap_or("unknown");
    let message = waiting.message.as_deref().unwrap_or_default();
    Some(format!(
        "the node {node} cannot pull the image {} ({reason}: {message})",
        container.image
    ))
}

/// Why a pod is not ready.
fn waits_for(pod: &Pod) -> Option<String> {
    let name = pod.name_any();
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let unscheduled = conditions
        .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
        .find_map(|condition| condition.message.clone());
    let container = container(pod);
    let is_running = container.is_some_and(|container| {
        let state = container.state.as_ref();
        !container.ready && state.is_some_and(|state| state.running.is_some())
    });
    if is_running {
        let namespace = manifests::NAMESPACE;
        return Some(format!(
            "pod {name} runs, but is not ready: `kubectl --namespace {namespace} logs {name}` shows why"
        ));
    }
    let reason = unscheduled.or_else(|| container_waits_for(container?))?;
    Some(format!("pod {name}: {reason}"))
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
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const POD: &str =
        r#"{"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}"#;

    fn deployment(status: &Value) -> Deployment {
        let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
        let spec = json!({"replicas": 2, "selector": {}, "template": template});
        serde_json::from_value(json!({"metadata": {"generation": 2}, "spec": spec, "status": status})).unwrap()
    }

    fn observed() -> Deployment {
        deployment(&json!({"observedGeneration": 2}))
    }

    fn pod(status: &Value) -> Pod {
        let mut pod: Value = serde_json::from_str(POD).unwrap();
        pod["status"] = status.clone();
        serde_json::from_value(pod).unwrap()
    }

    fn container(state: &Value, last_state: &Value) -> Pod {
        pod(&json!({"containerStatuses": [
            {"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state, "lastState": last_state},
        ]}))
    }

    fn waiting(reason: &str) -> Pod {
        container(&json!({"waiting": {"reason": reason, "message": "m"}}), &json!({}))
    }

    #[test]
    fn complete_when_all_replicas_are_updated_and_available() {
        let mut status = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        assert_eq!(state(&deployment(&status), &[]), Rollout::Complete);
        for (field, value) in [
            ("observedGeneration", 1),
            ("replicas", 3),
            ("updatedReplicas", 1),
            ("availableReplicas", 1),
        ] {
            let before = status[field].take();
            status[field] = value.into();
            let state = state(&deployment(&status), &[]);
            assert!(matches!(state, Rollout::InProgress(_)), "{field}");
            status[field] = before;
        }
    }

    #[test]
    fn an_image_that_cannot_be_pulled_is_named() {
        let text = "the node n cannot pull the image i (ImagePullBackOff: m)";
        let without_image = state(&observed(), &[waiting("ImagePullBackOff")]);
        assert_eq!(without_image, Rollout::WithoutImage(text.to_owned()));
    }

    /// As after a second run with the right image.
    #[test]
    fn pods_of_an_earlier_template_and_terminating_pods_are_ignored() {
        let mut earlier = waiting("ImagePullBackOff");
        earlier.spec.as_mut().unwrap().containers[0].image = Some("typo".to_owned());
        let mut terminating: Value = serde_json::to_value(waiting("ImagePullBackOff")).unwrap();
        terminating["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
        let terminating = serde_json::from_value(terminating).unwrap();
        let in_progress = Rollout::InProgress("0 of 2 replicas updated, 0 available".to_owned());
        assert_eq!(state(&observed(), &[earlier, terminating]), in_progress);
        let not_observed = deployment(&json!({"observedGeneration": 1}));
        assert_eq!(state(&not_observed, &[waiting("ImagePullBackOff")]), in_progress);
    }

    #[test]
    fn progress_names_what_pods_and_replica_sets_wait_for() {
        let rejected = json!({"type": "ReplicaFailure", "status": "True", "message": "quota exceeded"});
        let unscheduled = json!({"type": "PodScheduled", "status": "False", "message": "no nodes"});
        let crashed = container(
            &json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}),
            &json!({"terminated": {"exitCode": 2, "message": "error: unknown flag\n"}}),
        );
        let not_ready = container(&json!({"running": {}}), &json!({}));
        for (pod, reason) in [
            (pod(&json!({"conditions": [unscheduled]})), "; pod p: no nodes"),
            (waiting("ContainerCreating"), ""),
            (waiting("CreateContainerError"), "; pod p: CreateContainerError: m"),
            (
                crashed,
                "; pod p: CrashLoopBackOff: it ended with exit code 2: error: unknown flag",
            ),
            (
                not_ready,
                "; pod p runs, but is not ready: `kubectl --namespace endpointslice-system logs p` shows why",
            ),
        ] {
            let status = json!({"observedGeneration": 2, "conditions": [rejected]});
            let text = format!("0 of 2 replicas updated, 0 available; quota exceeded{reason}");
            assert_eq!(state(&deployment(&status), &[pod]), Rollout::InProgress(text));
        }
    }
}
