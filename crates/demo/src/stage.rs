//! What can happen in the story, and how one waits for what it leads to.

use std::{fmt::Debug, time::Duration};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{Endpoints, Namespace, Node, Pod, Service},
};
use kube::{
    Api, Client, Resource, ResourceExt as _,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use slice_oracle::{CheckConfig, Recorder, Violation, Window, check_final_state};
use testenv::objects::create;
use tokio::{sync::watch, time::timeout};

use super::{
    cluster::{Cluster, gone_is_fine},
    objects::{Deployment, NAMESPACE, condition},
    view::View,
};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rest is no event of a slice for this long, and everything as it should be.
const QUIET: Duration = Duration::from_millis(250);
/// As much as a person reads.
const LISTED: usize = 10;

/// Where the story is played.
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    client: Client,
    pub(super) recorder: Recorder,
    pub(super) view: watch::Sender<View>,
    /// How long a person wants to look at what an act led to.
    look: Duration,
}

impl Stage {
    /// Makes the namespace of the story, and begins to record.
    pub(super) async fn new(cluster: Cluster, look: Duration) -> Result<Self> {
        let client = cluster.client().clone();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        create(&namespaces, json!({"metadata": {"name": NAMESPACE}})).await?;
        let recorder = Recorder::start_namespaced(client.clone(), NAMESPACE).await?;
        Ok(Self {
            cluster,
            client,
            recorder,
            view: watch::Sender::default(),
            look,
        })
    }

    /// What is before explains nothing that comes after.
    pub(super) async fn mark(&self, name: &str, window: Window) -> Result<()> {
        Ok(self.recorder.mark(name, window).await?)
    }

    pub(super) async fn create_service(&self, service: Value) -> Result<()> {
        create(&self.api::<Service>(), service).await?;
        Ok(())
    }

    pub(super) async fn patch_service(&self, name: &str, patch: Value) -> Result<()> {
        let (services, patch) = (self.api::<Service>(), Patch::Merge(patch));
        let patched = services.patch(name, &PatchParams::default(), &patch).await;
        patched.with_context(|| format!("patch Service {name}"))?;
        Ok(())
    }

    /// Creates an Endpoints object, or changes it.
    pub(super) async fn write_endpoints(&self, object: Value) -> Result<()> {
        let api = self.api::<Endpoints>();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if api.get_opt(name).await?.is_some() {
            api.patch(name, &PatchParams::default(), &Patch::Merge(&object)).await?;
        } else {
            create(&api, object).await?;
        }
        Ok(())
    }

    /// Asks for pods, and waits until just they are there, ready.
    pub(super) async fn deploy(&self, deployment: Deployment) -> Result<()> {
        self.cluster.deploy(&deployment).await?;
        let Deployment {
            app, version, replicas, ..
        } = deployment;
        let what = format!("{replicas} ready pods of {app} {version}");
        self.until(&what, |view| is_rolled_out(view, &deployment)).await
    }

    /// A node does not answer any more: whoever looks after nodes finds its pods not ready.
    pub(super) async fn node_falls_silent(&self, node: &str) -> Result<()> {
        let params = PatchParams::default();
        let unknown = Patch::Strategic(condition("Ready", "Unknown"));
        self.nodes().patch_status(node, &params, &unknown).await?;
        let not_ready = Patch::Strategic(condition("Ready", "False"));
        for pod in self.pods_on(node).await? {
            self.api::<Pod>().patch_status(&pod, &params, &not_ready).await?;
        }
        Ok(())
    }

    /// A node is taken out of the cluster, and with it its pods. Answers what it was.
    pub(super) async fn node_leaves(&self, node: &str) -> Result<Node> {
        let pods = self.pods_on(node).await?;
        let last = self.nodes().get(node).await?;
        self.nodes().delete(node, &DeleteParams::default()).await?;
        for pod in pods {
            let at_once = DeleteParams::default().grace_period(0);
            gone_is_fine(self.api::<Pod>().delete(&pod, &at_once).await)?;
        }
        Ok(last)
    }

    /// A node comes back, and is ready again.
    pub(super) async fn node_returns(&self, mut node: Node) -> Result<()> {
        let name = node.name_any();
        node.metadata = ObjectMeta {
            name: node.metadata.name,
            labels: node.metadata.labels,
            ..ObjectMeta::default()
        };
        create(&self.nodes(), serde_json::to_value(node)?).await?;
        let ready = Patch::Strategic(condition("Ready", "True"));
        self.nodes()
            .patch_status(&name, &PatchParams::default(), &ready)
            .await?;
        Ok(())
    }

    /// Waits until the slices are at rest, and right.
    pub(super) async fn rest(&self) -> Result<()> {
        let mut view = self.view.subscribe();
        loop {
            view.mark_unchanged();
            self.recorder.wait_quiescent(QUIET).await?;
            let history = self.recorder.history()?;
            let wrong = check_final_state(&history, &CheckConfig::default());
            if wrong.is_empty() {
                let events = history.events().count();
                self.until("what was recorded", |view| view.seen >= events).await?;
                break;
            }
            if timeout(PATIENCE, view.changed()).await.is_err() {
                bail!(
                    "the slices are not as they should be, and nothing has changed for {} s:\n{}",
                    PATIENCE.as_secs(),
                    list(&wrong)
                );
            }
        }
        self.view.send_modify(|view| view.say(view.at_rest()));
        // For a person; nothing depends on it.
        tokio::time::sleep(self.look).await;
        Ok(())
    }

    /// Waits until something is seen.
    async fn until(&self, what: &str, condition: impl FnMut(&View) -> bool) -> Result<()> {
        let mut view = self.view.subscribe();
        timeout(PATIENCE, view.wait_for(condition))
            .await
            .with_context(|| format!("{what} did not come within {} s", PATIENCE.as_secs()))?
            .context("nobody watches the cluster any more")?;
        Ok(())
    }

    async fn pods_on(&self, node: &str) -> Result<Vec<String>> {
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let pods = self.api::<Pod>().list(&on_node).await?;
        Ok(pods.iter().map(Pod::name_any).collect())
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

/// Whether just the pods of a Deployment are there, all ready.
fn is_rolled_out(view: &View, deployment: &Deployment) -> bool {
    let families = if deployment.dual_stack { 2 } else { 1 };
    let mut pods = view.pods.values().filter(|pod| pod.app == deployment.app);
    pods.clone().count() == deployment.replicas
        && pods.all(|pod| {
            pod.version == deployment.version && pod.ready && !pod.leaving && pod.addresses.len() == families
        })
}

/// What is wrong, a line each, but not all of it.
pub(super) fn list(violations: &[Violation]) -> String {
    let shown = violations.iter().take(LISTED).map(|violation| format!("  {violation}"));
    let mut lines: Vec<String> = shown.collect();
    if violations.len() > LISTED {
        lines.push(format!("  and {} more", violations.len() - LISTED));
    }
    lines.join("\n")
}
