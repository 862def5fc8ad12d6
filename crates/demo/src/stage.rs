//! Applies changes to the cluster and waits for their effects.

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
    cluster::{Cluster, ignore_not_found},
    objects::{Deployment, NAMESPACE, condition},
    view::View,
};

/// Limit for every wait.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The slices are quiescent after this time without a slice event.
const QUIESCENT_FOR: Duration = Duration::from_millis(250);
/// Maximum violations in an error message.
const MAX_LISTED: usize = 10;

/// The cluster, the recorder of watch events, and the view that is shown.
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    client: Client,
    pub(super) recorder: Recorder,
    pub(super) view: watch::Sender<View>,
    /// Pause after each converged state.
    viewing_pause: Duration,
}

impl Stage {
    /// Creates the namespace of the demo and starts recording.
    pub(super) async fn new(cluster: Cluster, viewing_pause: Duration) -> Result<Self> {
        let client = cluster.client().clone();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        create(&namespaces, json!({"metadata": {"name": NAMESPACE}})).await?;
        let recorder = Recorder::start_namespaced(client.clone(), NAMESPACE).await?;
        Ok(Self {
            cluster,
            client,
            recorder,
            view: watch::Sender::default(),
            viewing_pause,
        })
    }

    /// Starts a window of the history: earlier changes do not justify later writes.
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
        patched.with_context(|| format!("cannot patch Service {name}"))?;
        Ok(())
    }

    /// Creates or patches an Endpoints object.
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

    /// Applies a Deployment and waits until it is rolled out.
    pub(super) async fn deploy(&self, deployment: Deployment) -> Result<()> {
        self.cluster.deploy(&deployment).await?;
        let Deployment {
            app, version, replicas, ..
        } = deployment;
        let condition = format!("{replicas} ready pods of {app} {version}");
        self.wait_for(&condition, |view| is_rolled_out(view, &deployment)).await
    }

    /// Sets a node's Ready condition to Unknown and its pods to not ready, as the node lifecycle controller does.
    pub(super) async fn mark_node_unreachable(&self, node: &str) -> Result<()> {
        let params = PatchParams::default();
        let unknown = Patch::Strategic(condition("Ready", "Unknown"));
        self.nodes().patch_status(node, &params, &unknown).await?;
        let not_ready = Patch::Strategic(condition("Ready", "False"));
        for pod in self.pods_on(node).await? {
            self.api::<Pod>().patch_status(&pod, &params, &not_ready).await?;
        }
        Ok(())
    }

    /// Deletes a node and its pods. Returns the deleted node.
    pub(super) async fn delete_node(&self, node: &str) -> Result<Node> {
        let pods = self.pods_on(node).await?;
        let deleted = self.nodes().get(node).await?;
        self.nodes().delete(node, &DeleteParams::default()).await?;
        for pod in pods {
            let immediately = DeleteParams::default().grace_period(0);
            ignore_not_found(self.api::<Pod>().delete(&pod, &immediately).await)?;
        }
        Ok(deleted)
    }

    /// Creates a deleted node again, as ready.
    pub(super) async fn recreate_node(&self, mut node: Node) -> Result<()> {
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

    /// Waits until the slices are quiescent and as desired.
    pub(super) async fn wait_converged(&self) -> Result<()> {
        let mut view = self.view.subscribe();
        loop {
            view.mark_unchanged();
            self.recorder.wait_quiescent(QUIESCENT_FOR).await?;
            let history = self.recorder.history()?;
            let violations = check_final_state(&history, &CheckConfig::default());
            if violations.is_empty() {
                let events = history.events().count();
                self.wait_for("all recorded events in the view", |view| view.event_count >= events)
                    .await?;
                break;
            }
            if timeout(TIMEOUT, view.changed()).await.is_err() {
                bail!(
                    "the slices have not converged, and no event arrived for {} s:\n{}",
                    TIMEOUT.as_secs(),
                    list(&violations)
                );
            }
        }
        self.view.send_modify(|view| view.log_line(view.converged_line()));
        // Only for the viewer.
        tokio::time::sleep(self.viewing_pause).await;
        Ok(())
    }

    /// Waits until the view fulfils a condition.
    async fn wait_for(&self, description: &str, condition: impl FnMut(&View) -> bool) -> Result<()> {
        let mut view = self.view.subscribe();
        timeout(TIMEOUT, view.wait_for(condition))
            .await
            .with_context(|| format!("timed out after {} s, waiting for {description}", TIMEOUT.as_secs()))?
            .context("the view is no longer updated")?;
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

/// Whether the pods are exactly those of the Deployment's version, all ready.
fn is_rolled_out(view: &View, deployment: &Deployment) -> bool {
    let families = if deployment.dual_stack { 2 } else { 1 };
    let mut pods = view.pods.values().filter(|pod| pod.app == deployment.app);
    pods.clone().count() == deployment.replicas
        && pods.all(|pod| {
            pod.version == deployment.version && pod.ready && !pod.terminating && pod.addresses.len() == families
        })
}

/// The first violations, one line each, and the number of the others.
pub(super) fn list(violations: &[Violation]) -> String {
    let shown = violations
        .iter()
        .take(MAX_LISTED)
        .map(|violation| format!("  {violation}"));
    let mut lines: Vec<String> = shown.collect();
    if violations.len() > MAX_LISTED {
        lines.push(format!("  and {} more", violations.len() - MAX_LISTED));
    }
    lines.join("\n")
}
