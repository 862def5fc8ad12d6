//! The in-memory API server. Nobody runs pods there, so that the parts of the Deployment controller, the scheduler and the
//! kubelets are played here.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};
use slice_core::well_known::ZONE_LABEL;
use testenv::{SimServer, objects::create};
use tokio::sync::watch;

use super::{
    deployment::{Plan, place, plan},
    gone_is_fine,
};
use crate::{
    objects::{Deployment, NAMESPACE},
    view::{PodView, View},
};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

/// How fast pods start and end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// In how many steps all of them would.
    pub(crate) steps: usize,
    /// What lies between two steps.
    pub(crate) pause: Duration,
}

/// What is asked for, by name.
type Deployments = BTreeMap<&'static str, Deployment>;

/// The server, and what is asked for.
pub(crate) struct Sim {
    server: SimServer,
    pub(super) client: Client,
    deployments: watch::Sender<Deployments>,
}

impl Sim {
    /// Starts one with a node in each zone.
    pub(super) async fn start() -> Result<Self> {
        let server = SimServer::start().await?;
        let client = server.client();
        for zone in ZONES {
            create(&Api::<Node>::all(client.clone()), node(zone)).await?;
        }
        Ok(Self {
            server,
            client,
            deployments: watch::Sender::default(),
        })
    }

    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig> {
        Kubeconfig::from_yaml(&self.server.kubeconfig()).context("cannot read our own kubeconfig")
    }

    pub(super) fn deploy(&self, deployment: &Deployment) {
        self.deployments.send_modify(|deployments| {
            deployments.insert(deployment.app, deployment.clone());
        });
    }

    pub(super) fn work(
        &self,
        mut view: watch::Receiver<View>,
        pace: Pace,
    ) -> impl Future<Output = Result<Infallible>> + Send + use<> {
        let mut deployments = self.deployments.subscribe();
        let mut parts = Parts {
            nodes: Api::all(self.client.clone()),
            pods: Api::namespaced(self.client.clone(), NAMESPACE),
            made: 0,
            pace,
        };
        async move {
            loop {
                let asked = deployments.borrow_and_update().clone();
                view.mark_unchanged();
                if parts.work(&asked, &view).await? {
                    tokio::time::sleep(pace.pause).await;
                } else {
                    tokio::select! {
                        changed = view.changed() => changed.context("nobody watches the cluster any more")?,
                        changed = deployments.changed() => changed.context("nobody asks for pods any more")?,
                    }
                }
            }
        }
    }
}

/// Those who make pods run.
struct Parts {
    nodes: Api<Node>,
    pods: Api<Pod>,
    /// Pods that were ever made.
    made: usize,
    pace: Pace,
}

impl Parts {
    /// Everybody does what is to be done now; answers whether there was anything.
    async fn work(&mut self, asked: &Deployments, view: &watch::Receiver<View>) -> Result<bool> {
        let everything = ListParams::default();
        let nodes: Vec<String> = self.nodes.list(&everything).await?.iter().map(Node::name_any).collect();
        let listed = self.pods.list(&everything).await?;
        let mut pods: Vec<PodView> = listed.iter().map(PodView::of).collect();
        let mut changed = self.run(&pods, view).await?;
        for deployment in asked.values() {
            changed |= self.deploy(deployment, &nodes, &mut pods).await?;
        }
        Ok(changed)
    }

    /// The part of the Deployment controller and the scheduler.
    async fn deploy(&mut self, deployment: &Deployment, nodes: &[String], pods: &mut Vec<PodView>) -> Result<bool> {
        let Plan { create: more, delete } = plan(deployment, pods);
        let mut changed = !delete.is_empty();
        for name in delete {
            gone_is_fine(self.pods.delete(name, &DeleteParams::default()).await)?;
        }
        for _ in 0..more {
            let Some(node) = place(deployment, nodes, pods) else {
                break;
            };
            self.made += 1;
            let pod = pod(deployment, node, self.made);
            pods.push(PodView::of(&create(&self.pods, pod).await?));
            changed = true;
        }
        Ok(changed)
    }

    /// The part of the kubelets: pods start, and those that were asked to end do so once nobody is sent to them any more, as
    /// a well-made one does.
    async fn run(&self, pods: &[PodView], view: &watch::Receiver<View>) -> Result<bool> {
        let leaving: Vec<&PodView> = {
            let view = view.borrow();
            pods.iter().filter(|pod| pod.leaving && view.may_go(&pod.uid)).collect()
        };
        let starting = pods.iter().filter(|pod| !pod.leaving && pod.addresses.is_empty());
        let starting: Vec<&PodView> = starting.collect();
        let at_once = pods.len().div_ceil(self.pace.steps);
        for pod in leaving.iter().take(at_once) {
            let ended = DeleteParams::default().grace_period(0);
            gone_is_fine(self.pods.delete(&pod.name, &ended).await)?;
        }
        let params = PatchParams::default();
        for pod in starting.iter().take(at_once) {
            let started = Patch::Merge(started(pod));
            let answer = self.pods.patch_status(&pod.name, &params, &started).await;
            gone_is_fine(answer)?;
        }
        Ok(!leaving.is_empty() || !starting.is_empty())
    }
}

/// A node, called as those of the small real cluster.
fn node(zone: &str) -> Value {
    json!({
        "metadata": {"name": format!("{zone}-1"), "labels": {ZONE_LABEL: zone}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn pod(deployment: &Deployment, node: &str, number: usize) -> Value {
    let mut pod = deployment.template();
    pod["metadata"]["name"] = format!("{}-{}-{number}", deployment.app, deployment.version).into();
    pod["spec"]["nodeName"] = node.into();
    pod
}

/// The status of a pod that runs. The number in its name makes its addresses its own.
fn started(pod: &PodView) -> Value {
    let number = pod
        .name
        .rsplit('-')
        .next()
        .and_then(|number| number.parse::<u16>().ok());
    let [high, low] = number.unwrap_or_default().to_be_bytes();
    let mut addresses = vec![json!({"ip": format!("10.1.{high}.{low}")})];
    if pod.dual_stack {
        addresses.push(json!({"ip": format!("fd00:1::{high:x}{low:02x}")}));
    }
    json!({"status": {
        "phase": "Running",
        "podIP": addresses[0]["ip"],
        "podIPs": addresses,
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{
            "name": pod.app, "image": "", "imageID": "", "ready": true, "started": true, "restartCount": 0,
        }],
    }})
}
