//! The real control plane: real Deployments, with pods run by a fake kubelet (kwok).

use std::{collections::BTreeSet, convert::Infallible};

use anyhow::{Context as _, Result};
use k8s_openapi::api::{apps::v1, core::v1::Pod};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    config::Kubeconfig,
};
use serde_json::json;
use slice_core::well_known::ZONE_LABEL;
use tokio::sync::watch;

use super::ignore_not_found;
use crate::{
    objects::{APP, Deployment, NAMESPACE},
    view::View,
};

/// The cluster and an admin client.
pub(crate) struct Real {
    cluster: testenv::Cluster,
    pub(super) client: Client,
}

impl Real {
    pub(super) async fn start() -> Result<Self> {
        let cluster = testenv::Cluster::start().await?;
        let client = cluster.control_plane().client()?;
        Ok(Self { cluster, client })
    }

    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig> {
        let control_plane = self.cluster.control_plane();
        Ok(control_plane.kubeconfig(control_plane.admin())?.content)
    }

    pub(super) async fn deploy(&self, deployment: &Deployment) -> Result<()> {
        let Deployment { app, replicas, .. } = deployment;
        let labels = json!({APP: app});
        let mut template = deployment.template();
        template["spec"]["topologySpreadConstraints"] = json!([{
            "maxSkew": 1,
            "topologyKey": ZONE_LABEL,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": labels},
            "matchLabelKeys": ["pod-template-hash"],
        }]);
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": app},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        });
        let deployments: Api<v1::Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
        let (params, object) = (PatchParams::apply("demo").force(), Patch::Apply(object));
        let applied = deployments.patch(app, &params, &object).await;
        applied.with_context(|| format!("cannot apply Deployment {app}"))?;
        Ok(())
    }

    /// Adds the IPv6 address of dual-stack pods: the fake kubelet assigns only one IP family.
    pub(super) fn run_pods(
        &self,
        mut view: watch::Receiver<View>,
    ) -> impl Future<Output = Result<Infallible>> + Send + use<> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        async move {
            let mut patched = BTreeSet::new();
            loop {
                let incomplete = pods_with_one_address(&view.borrow_and_update());
                for (name, address) in incomplete {
                    // The view may lag behind: patch each pod once.
                    if patched.insert(name.clone()) {
                        let addresses = json!([{"ip": address}, {"ip": format!("fd00:1::{:x}", patched.len())}]);
                        let status = Patch::Merge(json!({"status": {"podIPs": addresses}}));
                        ignore_not_found(pods.patch_status(&name, &PatchParams::default(), &status).await)?;
                    }
                }
                view.changed().await.context("the view is no longer updated")?;
            }
        }
    }
}

/// Dual-stack pods with a single address: name and address.
fn pods_with_one_address(view: &View) -> Vec<(String, String)> {
    let pods = view.pods.values().filter(|pod| pod.dual_stack && !pod.terminating);
    pods.filter_map(|pod| match pod.addresses.as_slice() {
        [only] => Some((pod.name.clone(), only.clone())),
        _ => None,
    })
    .collect()
}
