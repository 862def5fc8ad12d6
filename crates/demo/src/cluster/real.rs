//! The small real cluster: real Deployments, whose pods a fake kubelet runs.

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

use super::gone_is_fine;
use crate::{
    objects::{APP, Deployment, NAMESPACE},
    view::View,
};

/// The cluster, and somebody who may do everything there.
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
        let (by_us, object) = (PatchParams::apply("demo").force(), Patch::Apply(object));
        let applied = deployments.patch(app, &by_us, &object).await;
        applied.with_context(|| format!("apply Deployment {app}"))?;
        Ok(())
    }

    /// The fake kubelet knows one address family; pods that should have both get the other one here.
    pub(super) fn work(
        &self,
        mut view: watch::Receiver<View>,
    ) -> impl Future<Output = Result<Infallible>> + Send + use<> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        async move {
            let mut helped = BTreeSet::new();
            loop {
                let in_want = in_want(&view.borrow_and_update());
                for (name, address) in in_want {
                    // What was done may not have been seen yet.
                    if helped.insert(name.clone()) {
                        let addresses = json!([{"ip": address}, {"ip": format!("fd00:1::{:x}", helped.len())}]);
                        let status = Patch::Merge(json!({"status": {"podIPs": addresses}}));
                        gone_is_fine(pods.patch_status(&name, &PatchParams::default(), &status).await)?;
                    }
                }
                view.changed().await.context("nobody watches the cluster any more")?;
            }
        }
    }
}

/// The pods that lack an address, and the one that they have.
fn in_want(view: &View) -> Vec<(String, String)> {
    let pods = view.pods.values().filter(|pod| pod.dual_stack && !pod.leaving);
    pods.filter_map(|pod| match pod.addresses.as_slice() {
        [only] => Some((pod.name.clone(), only.clone())),
        _ => None,
    })
    .collect()
}
