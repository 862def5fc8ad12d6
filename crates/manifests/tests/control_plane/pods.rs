//! Which namespaces accept the pods of the Deployments.

use std::fs;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::{Api, Client, Error, api::PostParams};
use manifests::{Controller, NAMESPACE, Options, objects};
use serde_json::{Value, json};
use testenv::{ControlPlane, objects::create, until};

use super::api_server::apply;

/// A pod as the Deployment of a controller has it.
fn pod(controller: Controller) -> Value {
    let objects = objects(&[controller], &Options::default());
    let mut pod = objects.last().unwrap().data["spec"]["template"].clone();
    pod["metadata"]["name"] = json!(controller.name());
    pod
}

/// Creates a pod as a dry run. Returns the error of the API server, if any.
async fn rejection(client: &Client, namespace: &str, pod: &Value) -> Option<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let pod = serde_json::from_value(pod.clone()).unwrap();
    match pods.create(&params, &pod).await {
        Ok(_) => None,
        Err(Error::Api(status)) => Some(status.message),
        Err(error) => panic!("{error}"),
    }
}

/// Nothing but the host network needs the label of the namespace.
#[tokio::test]
async fn pods_without_the_host_network_are_accepted_by_the_restricted_level() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().unwrap();
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    create(
        &namespaces,
        json!({"metadata": {"name": "restricted", "labels": labels}}),
    )
    .await
    .unwrap();
    for controller in Controller::ALL {
        let mut pod = pod(controller);
        let error = rejection(&client, "restricted", &pod).await.unwrap();
        assert!(
            error.contains("PodSecurity") && error.contains("host namespaces"),
            "{error}"
        );
        pod["spec"].as_object_mut().unwrap().remove("hostNetwork");
        let port = pod["spec"]["containers"][0]["ports"][0].as_object_mut().unwrap();
        port.remove("hostPort");
        assert_eq!(rejection(&client, "restricted", &pod).await, None);
    }
}

/// As GKE configures it.
const LIMITED_CLASS: &str = r#"{
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [{
        "name": "ResourceQuota",
        "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "ResourceQuotaConfiguration",
            "limitedResources": [{
                "resource": "pods",
                "matchScopes": [
                    {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
                ]
            }]
        }
    }]
}"#;

#[tokio::test]
async fn pods_are_accepted_where_their_priority_class_is_limited() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admission.json");
    fs::write(&path, LIMITED_CLASS).unwrap();
    let argument = format!("--admission-control-config-file={}", path.display());
    let control_plane = ControlPlane::builder().apiserver_arg(argument).start().await.unwrap();
    let _controllers = control_plane
        .controller_manager(&["resourcequota-controller"], &[])
        .await
        .unwrap();
    let client = control_plane.client().unwrap();
    apply(&client, &objects(&Controller::ALL, &Options::default())).await;
    for controller in Controller::ALL {
        let pod = pod(controller);
        let error = rejection(&client, "default", &pod).await.unwrap();
        assert!(error.contains("insufficient quota"), "{error}");
        until("the quota has a status, and the pod is accepted", async || {
            rejection(&client, NAMESPACE, &pod).await.is_none()
        })
        .await
        .unwrap();
    }
}
