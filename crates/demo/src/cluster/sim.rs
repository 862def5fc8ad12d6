//! The in-memory API server, with simulations of the Deployment controller, the scheduler and the kubelets.

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
    deployment::{Plan, pick_node, plan},
    ignore_not_found,
};
use crate::{
    objects::{Deployment, NAMESPACE},
    view::{PodView, View},
};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

/// How fast pods start and end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Number of steps in which all pods would start or end.
    pub(crate) steps: usize,
    /// Time between two steps.
    pub(crate) pause: Duration,
}

/// Desired Deployments by name.
type Deployments = BTreeMap<&'static str, Deployment>;

/// The server and the desired Deployments.
pub(crate) struct Sim {
    server: SimServer,
    pub(super) client: Client,
    deployments: watch::Sender<Deployments>,
}

impl Sim {
    /// Starts the server with a node in each zone.
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
        Kubeconfig::from_yaml(&self.server.kubeconfig())
            .context("cannot parse the kubeconfig of the in-memory API server")
    }

    pub(super) fn deploy(&self, deployment: &Deployment) {
        self.deployments.send_modify(|deployments| {
            deployments.insert(deployment.app, deployment.clone());
        });
    }

    /// Runs the simulated components, forever.
    pub(super) fn run_pods(
        &self,
        mut view: watch::Receiver<View>,
        pace: Pace,
    ) -> impl Future<Output = Result<Infallible>> + Send + use<> {
        let mut deployments = self.deployments.subscribe();
        let mut simulation = PodSimulation {
            nodes: Api::all(self.client.clone()),
            pods: Api::namespaced(self.client.clone(), NAMESPACE),
            created: 0,
            pace,
        };
        async move {
            loop {
                let desired = deployments.borrow_and_update().clone();
                view.mark_unchanged();
                if simulation.step(&desired, &view).await? {
                    tokio::time::sleep(pace.pause).await;
                } else {
                    tokio::select! {
                        changed = view.changed() => changed.context("the view is no longer updated")?,
                        changed = deployments.changed() => changed.context("the list of Deployments is no longer updated")?,
                    }
                }
            }
        }
    }
}

/// Simulated Deployment controller, scheduler and kubelets.
struct PodSimulation {
    nodes: Api<Node>,
    pods: Api<Pod>,
    /// Number of pods created so far.
    created: usize,
    pace: Pace,
}

impl PodSimulation {
    /// Runs one step of all components. Returns whether anything changed.
    async fn step(&mut self, desired: &Deployments, view: &watch::Receiver<View>) -> Result<bool> {
        let all = ListParams::default();
        let nodes: Vec<String> = self.nodes.list(&all).await?.iter().map(Node::name_any).collect();
        let listed = self.pods.list(&all).await?;
        let mut pods: Vec<PodView> = listed.iter().map(PodView::from_pod).collect();
        let mut changed = self.run_kubelets(&pods, view).await?;
        for deployment in desired.values() {
            changed |= self.deploy(deployment, &nodes, &mut pods).await?;
        }
        Ok(changed)
    }

    /// Deployment controller and scheduler: creates, schedules and deletes pods.
    async fn deploy(&mut self, deployment: &Deployment, nodes: &[String], pods: &mut Vec<PodView>) -> Result<bool> {
        let Plan { create: more, delete } = plan(deployment, pods);
        let mut changed = !delete.is_empty();
        for name in delete {
            ignore_not_found(self.pods.delete(name, &DeleteParams::default()).await)?;
        }
        for _ in 0..more {
            let Some(node) = pick_node(deployment, nodes, pods) else {
                break;
            };
            self.created += 1;
            let pod = pod(deployment, node, self.created);
            pods.push(PodView::from_pod(&create(&self.pods, pod).await?));
            changed = true;
        }
        Ok(changed)
    }

    /// Kubelets: start new pods, and remove terminating pods once no slice publishes them as ready.
    async fn run_kubelets(&self, pods: &[PodView], view: &watch::Receiver<View>) -> Result<bool> {
        let terminating: Vec<&PodView> = {
            let view = view.borrow();
            pods.iter()
                .filter(|pod| pod.terminating && view.may_be_deleted(&pod.uid))
                .collect()
        };
        let starting = pods.iter().filter(|pod| !pod.terminating && pod.addresses.is_empty());
        let starting: Vec<&PodView> = starting.collect();
        let batch = pods.len().div_ceil(self.pace.steps);
        for pod in terminating.iter().take(batch) {
            let immediately = DeleteParams::default().grace_period(0);
            ignore_not_found(self.pods.delete(&pod.name, &immediately).await)?;
        }
        let params = PatchParams::default();
        for pod in starting.iter().take(batch) {
            let status = Patch::Merge(running_status(pod));
            let result = self.pods.patch_status(&pod.name, &params, &status).await;
            ignore_not_found(result)?;
        }
        Ok(!terminating.is_empty() || !starting.is_empty())
    }
}

/// A node, named as in the real cluster of testenv.
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

/// The status of a running, ready pod. Its addresses are derived from the number in its name.
fn running_status(pod: &PodView) -> Value {
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
