//! Waits until the Deployments are rolled out, and reports what they wait for.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus},
    core::v1::{ContainerState, Pod},
};
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use manifests::Controller;
use tokio::time::{Instant, sleep};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Reasons of a waiting container after which the image will not be there without a change of the cluster.
const NO_IMAGE: [&str; 3] = ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"];

/// The state of a rollout.
#[derive(Debug, PartialEq, Eq)]
enum Rollout {
    Complete,
    /// With the reasons why it takes time.
    InProgress(String),
    /// It will not go on without a change of the cluster.
    Failed(String),
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
    loop {
        let deployment = deployments.get(name).await;
        let deployment = deployment.with_context(|| format!("cannot read the Deployment {name}"))?;
        let pods = pods.list(&of_deployment).await;
        let pods = pods.with_context(|| format!("cannot list the pods of {name}"))?.items;
        let progress = match state(&deployment, &pods) {
            Rollout::Complete => {
                println!("{name}: rolled out");
                return Ok(());
            }
            Rollout::InProgress(progress) => progress,
            Rollout::Failed(reason) => bail!("{name}: {reason}. {}", remains()),
        };
        if progress != printed {
            println!("{name}: {progress}");
            printed = progress;
        }
        if Instant::now() >= end {
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
    if let Some(reason) = pods.iter().find_map(missing_image) {
        return Rollout::Failed(reason);
    }
    let rejected = status.conditions.iter().flatten();
    let rejected = rejected.filter(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True");
    let mut reasons: Vec<_> = rejected.filter_map(|condition| condition.message.clone()).collect();
    reasons.extend(pods.iter().filter_map(waits_for));
    let counts = format!("{updated} of {desired} replicas updated, {available} available");
    Rollout::InProgress([vec![counts], reasons].concat().join("; "))
}

/// The reasons and messages of the waiting containers of a pod.
fn waiting(pod: &Pod) -> impl Iterator<Item = (&str, &str, &str)> {
    let statuses = pod
        .status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten());
    statuses.filter_map(|status| {
        let ContainerState { waiting, .. } = status.state.as_ref()?;
        let waiting = waiting.as_ref()?;
        let message = waiting.message.as_deref().unwrap_or_default();
        Some((status.image.as_str(), waiting.reason.as_deref()?, message))
    })
}

fn missing_image(pod: &Pod) -> Option<String> {
    let (image, reason, message) = waiting(pod).find(|(_, reason, _)| NO_IMAGE.contains(reason))?;
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_deref())
        .unwrap_or("unknown");
    Some(format!(
        "the node {node} cannot pull the image {image} ({reason}: {message})"
    ))
}

/// Why a pod is not ready.
fn waits_for(pod: &Pod) -> Option<String> {
    let name = pod.name_any();
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let unscheduled = conditions
        .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
        .find_map(|condition| condition.message.clone());
    let container = || {
        let (_, reason, message) = waiting(pod).find(|(_, reason, _)| *reason != "ContainerCreating")?;
        Some(format!("{reason}: {message}"))
    };
    let reason = unscheduled.or_else(container)?;
    Some(format!("pod {name}: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(status: &Value) -> Deployment {
        let object = json!({"metadata": {"generation": 2}, "spec": {"replicas": 2, "selector": {}, "template": {}}, "status": status});
        serde_json::from_value(object).unwrap()
    }

    fn pod(status: &Value) -> Pod {
        let object = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": []}, "status": status});
        serde_json::from_value(object).unwrap()
    }

    fn waiting(reason: &str) -> Pod {
        let state = json!({"waiting": {"reason": reason, "message": "m"}});
        pod(&json!({"containerStatuses": [
            {"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state},
        ]}))
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
    fn an_image_that_cannot_be_pulled_fails_the_rollout() {
        let new = deployment(&json!({}));
        let failed = state(&new, &[waiting("ImagePullBackOff")]);
        let text = "the node n cannot pull the image i (ImagePullBackOff: m)";
        assert_eq!(failed, Rollout::Failed(text.to_owned()));
        let first_attempt = state(&new, &[waiting("ErrImagePull")]);
        let text = "0 of 2 replicas updated, 0 available; pod p: ErrImagePull: m";
        assert_eq!(first_attempt, Rollout::InProgress(text.to_owned()));
    }

    #[test]
    fn progress_names_what_pods_and_replica_sets_wait_for() {
        let rejected = json!({"type": "ReplicaFailure", "status": "True", "message": "quota exceeded"});
        let unscheduled = json!({"type": "PodScheduled", "status": "False", "message": "no nodes"});
        let state = state(
            &deployment(&json!({"conditions": [rejected]})),
            &[pod(&json!({"conditions": [unscheduled]})), waiting("ContainerCreating")],
        );
        let text = "0 of 2 replicas updated, 0 available; quota exceeded; pod p: no nodes";
        assert_eq!(state, Rollout::InProgress(text.to_owned()));
    }
}
