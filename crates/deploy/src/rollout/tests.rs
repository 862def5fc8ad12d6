use clap::Parser as _;
use serde_json::{Value, json};

use super::*;
use crate::Args;

fn deployment(status: &Value) -> Deployment {
    let metadata = json!({"name": "c", "generation": 2, "annotations": {REVISION: "2"}});
    let spec = json!({"replicas": 2, "selector": {}, "template": {}});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
}

fn observed() -> Deployment {
    deployment(&json!({"observedGeneration": 2}))
}

fn replica_set(revision: &str, hash: &str) -> ReplicaSet {
    let metadata = json!({"annotations": {REVISION: revision}, "labels": {TEMPLATE_HASH: hash}});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

fn state(deployment: &Deployment, pods: &[Pod]) -> Rollout {
    let observed = Observed {
        deployment: deployment.clone(),
        replica_sets: vec![replica_set("1", "earlier"), replica_set("2", "current")],
        pods: pods.to_vec(),
        warnings: BTreeMap::from([("p".to_owned(), "FailedMount: no secret".to_owned())]),
    };
    let args = Args::try_parse_from(["deploy", "--context", "other"]).unwrap();
    super::state(&observed, &Commands::new(&args))
}

fn pod(status: &Value) -> Pod {
    let metadata = json!({"name": "p", "labels": {TEMPLATE_HASH: "current"}});
    let spec = json!({"nodeName": "n", "containers": []});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
}

/// With a container that a webhook has added.
fn container(state: &Value, last_state: &Value) -> Pod {
    pod(&json!({"containerStatuses": [
        {"name": "added", "image": "i", "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {}}},
        {"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state, "lastState": last_state},
    ]}))
}

fn waiting(reason: &str) -> Pod {
    container(
        &json!({"waiting": {"reason": reason, "message": "errors:\nm"}}),
        &json!({}),
    )
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
    for (reason, is_back_off) in [("ErrImagePull", false), ("ImagePullBackOff", true)] {
        let missing = MissingImage {
            text: format!("the node n cannot pull the image i ({reason}: errors: m)"),
            is_back_off,
        };
        assert_eq!(state(&observed(), &[waiting(reason)]), Rollout::WithoutImage(missing));
    }
}

/// As after a second run with the right image.
#[test]
fn pods_of_an_earlier_template_and_terminating_pods_are_ignored() {
    let mut earlier = waiting("ImagePullBackOff");
    earlier
        .labels_mut()
        .insert(TEMPLATE_HASH.to_owned(), "earlier".to_owned());
    let mut unlabelled = waiting("ImagePullBackOff");
    unlabelled.labels_mut().clear();
    let mut terminating: Value = serde_json::to_value(waiting("ImagePullBackOff")).unwrap();
    terminating["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
    let terminating = serde_json::from_value(terminating).unwrap();
    let in_progress = Rollout::InProgress("0 of 2 replicas updated, 0 available".to_owned());
    assert_eq!(state(&observed(), &[earlier, unlabelled, terminating]), in_progress);
    let mut without_replica_set = observed();
    without_replica_set
        .annotations_mut()
        .insert(REVISION.to_owned(), "3".to_owned());
    assert_eq!(state(&without_replica_set, &[waiting("ImagePullBackOff")]), in_progress);
}

/// The counts and pods are those of the template before.
#[test]
fn a_deployment_that_is_not_observed_names_kube_controller_manager() {
    let not_observed = deployment(&json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}));
    let text = "kube-controller-manager has not observed the Deployment; does it run?";
    assert_eq!(
        state(&not_observed, &[waiting("ImagePullBackOff")]),
        Rollout::InProgress(text.to_owned())
    );
}

#[test]
fn progress_names_what_pods_and_replica_sets_wait_for() {
    let rejected = json!({"type": "ReplicaFailure", "status": "True", "message": "quota exceeded"});
    let unscheduled = json!({"type": "PodScheduled", "status": "False", "message": "no nodes"});
    let crashed = container(
        &json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}),
        &json!({"terminated": {"exitCode": 2, "message": "starting\nerror: unknown flag\n"}}),
    );
    let not_ready = container(&json!({"running": {}}), &json!({}));
    for (pod, reason) in [
        (pod(&json!({"conditions": [unscheduled]})), "; pod p: no nodes"),
        (waiting("ContainerCreating"), "; pod p: FailedMount: no secret"),
        (
            pod(&json!({"phase": "Failed", "reason": "NodePorts", "message": "no free ports"})),
            "; pod p: NodePorts: no free ports",
        ),
        (
            waiting("CreateContainerError"),
            "; pod p: CreateContainerError: errors: m",
        ),
        (
            crashed,
            "; pod p: CrashLoopBackOff: it ended with exit code 2: starting error: unknown flag",
        ),
        (
            not_ready,
            "; pod p runs, but is not ready: `kubectl --context other --namespace endpointslice-system logs p` shows why",
        ),
    ] {
        let status = json!({"observedGeneration": 2, "conditions": [rejected]});
        let text = format!("0 of 2 replicas updated, 0 available; quota exceeded{reason}");
        assert_eq!(state(&deployment(&status), &[pod]), Rollout::InProgress(text));
    }
}

#[test]
fn a_pod_without_a_reason_names_its_node() {
    let mut pending = pod(&json!({"phase": "Pending"}));
    pending.metadata.name = Some("q".to_owned());
    let mut unassigned = pending.clone();
    unassigned.spec.as_mut().unwrap().node_name = None;
    let counts = "0 of 2 replicas updated, 0 available";
    for (pod, reason) in [
        (pending, "the node n has not started it yet"),
        (unassigned, "not scheduled yet"),
    ] {
        let text = format!("{counts}; pod q: {reason}");
        assert_eq!(state(&observed(), &[pod]), Rollout::InProgress(text));
    }
}

#[test]
fn the_last_warning_about_a_pod_counts() {
    let event = |minute: u32, message: &str| {
        serde_json::from_value(json!({
            "metadata": {}, "involvedObject": {"name": "p"}, "reason": "FailedMount", "message": message,
            "lastTimestamp": format!("2024-01-01T00:{minute:02}:00Z"),
        }))
        .unwrap()
    };
    let warnings = warnings_by_pod(vec![event(2, "second"), event(1, "first")]);
    assert_eq!(
        warnings,
        BTreeMap::from([("p".to_owned(), "FailedMount: second".to_owned())])
    );
}
