//! Rolling Deployments in a [`Cluster`](crate::Cluster).

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{error::Error, objects::create, test_process::until};

/// A Deployment in the namespace `default`. Its pods have the label `app: NAME` and a port named `http`, and are spread
/// over the zones.
pub struct RollingDeployment {
    name: String,
    deployments: Api<Deployment>,
    pods: Api<Pod>,
}

impl RollingDeployment {
    /// Creates a Deployment of an image and waits until all pods are ready.
    pub async fn start(client: &Client, name: &str, image: &str, replicas: usize) -> Result<Self, Error> {
        let deployment = Self {
            name: name.to_owned(),
            deployments: Api::default_namespaced(client.clone()),
            pods: Api::default_namespaced(client.clone()),
        };
        let labels = json!({"app": name});
        let ports = json!([{"name": "http", "containerPort": 8080}]);
        let spread = json!([{
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": labels},
            "matchLabelKeys": ["pod-template-hash"],
        }]);
        let containers = json!([{"name": "main", "image": image, "ports": ports}]);
        let template = json!({
            "metadata": {"labels": labels},
            "spec": {"containers": containers, "topologySpreadConstraints": spread},
        });
        let spec = json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": template});
        create(
            &deployment.deployments,
            json!({"metadata": {"name": name}, "spec": spec}),
        )
        .await?;
        deployment.wait_rolled_out(image, replicas).await?;
        Ok(deployment)
    }

    /// Sets image and replicas, and waits until the rollout is complete.
    pub async fn roll(&self, image: &str, replicas: usize) -> Result<(), Error> {
        let containers = json!([{"name": "main", "image": image}]);
        let patch = json!({"spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}}});
        let patch = Patch::Strategic(patch);
        let patched = self
            .deployments
            .patch(&self.name, &PatchParams::default(), &patch)
            .await;
        patched.map_err(Error::request(format!("patch the deployment {}", self.name)))?;
        self.wait_rolled_out(image, replicas).await
    }

    /// Waits until exactly `replicas` pods of this image exist and are ready.
    pub async fn wait_rolled_out(&self, image: &str, replicas: usize) -> Result<(), Error> {
        until(&format!("{replicas} pods run {image}"), async || {
            let pods = self.pods().await.unwrap_or_default();
            pods.len() == replicas && pods.iter().all(|pod| runs(pod, image) && is_ready(pod))
        })
        .await
    }

    /// The pods of the Deployment.
    pub async fn pods(&self) -> Result<Vec<Pod>, Error> {
        let of_it = ListParams::default().labels(&format!("app={}", self.name));
        let pods = self.pods.list(&of_it).await;
        let pods = pods.map_err(Error::request(format!("list the pods of {}", self.name)))?;
        Ok(pods.items)
    }
}

fn runs(pod: &Pod, image: &str) -> bool {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| container.image.as_deref()).eq([Some(image)])
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref());
    let mut conditions = conditions.unwrap_or_default().iter();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        && pod.metadata.deletion_timestamp.is_none()
}
