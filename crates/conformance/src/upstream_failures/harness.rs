//! A controller behind the fault proxy, in a namespace of its own, with a recorder beside it.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use apisim::{
    faults::{Faults, Match, Recorded, Rule, RuleHandle, StreamFault},
    request::Verb,
};
use k8s_openapi::api::{
    core::v1::Service,
    discovery::v1::{Endpoint, EndpointSlice},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};
use slice_oracle::{CheckConfig, Object, Recorder, check_final_state, verify};
use testenv::{ControlPlane, FaultProxy, objects::slices_of};
use tokio::time::{Instant, sleep};

use super::{Controller, Failed, Failure, Implementation, process::Process};
use crate::{
    cluster::ClusterUnderTest,
    scenario::{self, Change, with},
};

/// The controller is quiescent after this time without a watch event of a slice.
const IDLE: Duration = Duration::from_secs(1);
/// An expected state that does not occur within this time counts as a failure. A failure of ours is never expected, so the
/// machine may be loaded; upstream retries after 1, 2, 4, 8 and 16 s, so a short delay is not mistaken for one.
const PATIENCE_WITH_OURS: Duration = Duration::from_secs(60);
const PATIENCE_WITH_UPSTREAM: Duration = Duration::from_secs(20);
/// Timeout of what must happen for the scenario to go on.
const TIMEOUT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(20);
/// A Service of the harness.
const BARRIER: &str = "barrier";

/// A controller under test.
pub(super) struct Harness<'a> {
    pub(super) namespace: String,
    pub(super) control_plane: &'a ControlPlane,
    cluster: ClusterUnderTest,
    controller: Controller,
    implementation: Implementation<'a>,
    proxy: FaultProxy<'a>,
    recorder: Recorder,
    process: Option<Process>,
    nodes: Vec<String>,
}

impl<'a> Harness<'a> {
    /// Starts the controller, in a namespace with the name of the scenario.
    pub(super) async fn start(
        failure: &Failure,
        control_plane: &'a ControlPlane,
        implementation: Implementation<'a>,
    ) -> Result<Self> {
        let cluster = ClusterUnderTest {
            name: "the cluster",
            client: control_plane.client()?,
        };
        let namespace = failure.name.replace('_', "-");
        cluster.create_namespace(&namespace).await?;
        let mut harness = Self {
            recorder: Recorder::start_namespaced(cluster.client.clone(), &namespace).await?,
            proxy: FaultProxy::start(control_plane).await?,
            namespace,
            control_plane,
            cluster,
            controller: failure.controller,
            implementation,
            process: None,
            nodes: Vec::new(),
        };
        harness.start_controller().await?;
        Ok(harness)
    }

    async fn start_controller(&mut self) -> Result<()> {
        let process = Process::start(
            self.controller,
            self.implementation,
            self.control_plane,
            &self.proxy,
            &self.namespace,
        );
        self.process = Some(process.await?);
        Ok(())
    }

    /// Stops the controller.
    pub(super) async fn stop_controller(&mut self) -> Result<()> {
        match self.process.take() {
            Some(process) => process.stop().await,
            None => Ok(()),
        }
    }

    /// Starts the controller again, and waits until it has synced all keys.
    pub(super) async fn resume_controller(&mut self) -> Result<()> {
        self.start_controller().await?;
        let services = match self.implementation {
            Implementation::Ours(_) => Api::<Service>::namespaced(self.cluster.client.clone(), &self.namespace),
            Implementation::Upstream => Api::<Service>::all(self.cluster.client.clone()),
        };
        let services = services.list(&ListParams::default()).await?.items.len();
        let process = self.process()?;
        self.wait("sync of all keys", async || Ok(process.syncs().await? >= services))
            .await?;
        self.wait_quiescent().await
    }

    fn process(&self) -> Result<&Process> {
        self.process.as_ref().context("the controller is stopped")
    }

    /// The faults between the controller and the API server.
    pub(super) fn faults(&self) -> &Faults {
        self.proxy.faults()
    }

    /// Holds the watch of slices: the controller does not see writes until the rule is removed.
    pub(super) fn hold_slices(&self) -> RuleHandle {
        let rule = Rule::on(Verb::Watch, "endpointslices").stream(StreamFault::Hold);
        self.faults().add(rule)
    }

    /// The controller's requests that write slices of the Services of the scenario, since the log was cleared.
    pub(super) fn writes(&self) -> Vec<Recorded> {
        let writes = Match::writes().resource("endpointslices").namespace(&self.namespace);
        self.faults().requests(&writes)
    }

    /// Creates or changes an object and its status.
    pub(super) async fn apply(&self, object: &Value) -> Result<()> {
        self.change(&scenario::apply(object)).await
    }

    /// Deletes an object, a pod without grace period.
    pub(super) async fn delete(&self, kind: &'static str, name: &str) -> Result<()> {
        self.change(&scenario::delete(kind, name)).await
    }

    /// Makes a change, as another client.
    pub(super) async fn change(&self, change: &Change) -> Result<()> {
        let changed = self.cluster.make_change(&self.namespace, change, &self.recorder);
        changed.await.map(drop)
    }

    /// Creates a ready node; without a zone if `zone` is empty. Nodes of the control plane do not count for topology hints.
    pub(super) async fn node(&mut self, suffix: &str, zone: &str, cpu: &str, counts: bool) -> Result<String> {
        let name = format!("{}-{suffix}", self.namespace);
        let mut node = scenario::node(&name, zone);
        for list in ["allocatable", "capacity"] {
            node = with(&node, &format!("/status/{list}/cpu"), json!(cpu));
        }
        if !counts {
            let role = "/metadata/labels/node-role.kubernetes.io~1control-plane";
            node = with(&node, role, json!(""));
        }
        self.apply(&node).await?;
        self.nodes.push(name.clone());
        Ok(name)
    }

    /// A node for pods of a scenario without topology hints.
    pub(super) async fn plain_node(&mut self) -> Result<String> {
        self.node("n1", "zone-a", "2", false).await
    }

    /// All slices of a Service, by label.
    pub(super) async fn slices(&self, service: &str) -> Result<Vec<EndpointSlice>> {
        Ok(slices_of(&self.cluster.client, &self.namespace, service).await?)
    }

    /// The slices of a Service that are not terminating.
    pub(super) async fn live_slices(&self, service: &str) -> Result<Vec<EndpointSlice>> {
        let mut slices = self.slices(service).await?;
        slices.retain(|slice| slice.metadata.deletion_timestamp.is_none());
        Ok(slices)
    }

    /// Waits until the slices of a Service [have exactly these addresses](Self::is_published).
    pub(super) async fn wait_published(&self, service: &str, addresses: &[&str]) -> Result<()> {
        let what = format!("publication of {} for {service}", addresses.join(", "));
        self.wait(&what, async || self.is_published(service, addresses).await)
            .await
    }

    /// Like [`wait_published`](Self::wait_published), but the failure is one of the controller.
    pub(super) async fn expect_published(&self, service: &str, addresses: &[&str]) -> Result<()> {
        let what = format!("publication of {} for {service}", addresses.join(", "));
        self.expect(&what, async || self.is_published(service, addresses).await)
            .await
    }

    /// Whether the slices of a Service, without terminating ones, have exactly these ready addresses, each once.
    pub(super) async fn is_published(&self, service: &str, addresses: &[&str]) -> Result<bool> {
        let slices = self.live_slices(service).await?;
        Ok(testenv::objects::ready_addresses(&slices).is_some_and(|found| found == addresses))
    }

    /// Waits for a condition that the scenario needs.
    pub(super) async fn wait(&self, what: &str, condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let errors = self.errors().len();
        if self.holds_within(TIMEOUT, condition).await? {
            return Ok(());
        }
        let seconds = TIMEOUT.as_secs();
        anyhow::bail!("no {what} within {seconds} s; {}", self.observed_since(errors).await?)
    }

    /// Waits for a condition that a correct controller reaches.
    pub(super) async fn expect(&self, what: &str, condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let patience = match self.implementation {
            Implementation::Ours(_) => PATIENCE_WITH_OURS,
            Implementation::Upstream => PATIENCE_WITH_UPSTREAM,
        };
        let errors = self.errors().len();
        if self.holds_within(patience, condition).await? {
            return Ok(());
        }
        let seconds = patience.as_secs();
        self.failed(format!(
            "no {what} within {seconds} s; {}",
            self.observed_since(errors).await?
        ))
    }

    /// The controller has the failure.
    #[expect(clippy::unused_self, reason = "reads as a check of the controller")]
    pub(super) fn failed(&self, evidence: String) -> Result<()> {
        Err(Failed(evidence).into())
    }

    async fn holds_within(&self, time: Duration, mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<bool> {
        let start = Instant::now();
        loop {
            if condition().await? {
                return Ok(true);
            }
            if start.elapsed() > time {
                return Ok(false);
            }
            sleep(POLL).await;
        }
    }

    /// The last error of the controller since it had this number of them; without one, the endpoints of `web`.
    async fn observed_since(&self, errors: usize) -> Result<String> {
        if let Some(error) = self.errors().into_iter().skip(errors).last() {
            return Ok(format!("last error: {error}"));
        }
        let slices = self.live_slices("web").await?;
        let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
        let endpoints: Vec<String> = endpoints.map(describe).collect();
        Ok(match (slices.len(), endpoints.len()) {
            (0, _) => "found no slice".to_owned(),
            (_, 0) => "found no endpoint".to_owned(),
            _ => format!("found {}", endpoints.join(", ")),
        })
    }

    fn errors(&self) -> Vec<String> {
        let process = self.process.as_ref();
        process
            .map(|process| process.errors(&self.namespace))
            .unwrap_or_default()
    }

    /// Waits until no slice changes.
    pub(super) async fn wait_quiescent(&self) -> Result<()> {
        Ok(self.recorder.wait_quiescent(IDLE).await?)
    }

    /// Number of syncs that have ended since the controller started.
    pub(super) async fn syncs(&self) -> Result<usize> {
        self.process()?.syncs().await
    }

    /// Number of failed syncs of the scenario.
    pub(super) async fn failed_syncs(&self) -> Result<usize> {
        self.process()?.failed_syncs(&self.namespace).await
    }

    /// Fails if the controller failed a sync since there were `before`.
    pub(super) async fn expect_no_failed_sync_since(&self, before: usize) -> Result<()> {
        match self.failed_syncs().await? - before {
            0 => Ok(()),
            syncs => self.failed(format!("failed syncs: {syncs}; {}", self.observed_since(0).await?)),
        }
    }

    /// Deletes a slice, as another client.
    pub(super) async fn delete_slice(&self, name: &str) -> Result<()> {
        let api: Api<EndpointSlice> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        self.recorder.record_manual_deletion(&api.get(name).await?);
        self.delete("EndpointSlice", name).await
    }

    /// Changes a Service so that it is synced although its endpoints do not change, and waits for the sync.
    pub(super) async fn sync_again(&self, service: &Value, number: usize) -> Result<()> {
        let before = self.syncs().await?;
        let is_odd = number % 2 == 1;
        self.apply(&with(service, "/spec/publishNotReadyAddresses", json!(is_odd)))
            .await?;
        self.wait("sync", async || Ok(self.syncs().await? > before)).await?;
        self.wait_quiescent().await
    }

    /// Waits until the controller has handled all watch events of slices so far: it recreates a slice whose deletion is a later
    /// event.
    pub(super) async fn pass_slice_events(&self) -> Result<()> {
        self.apply(&scenario::service(BARRIER)).await?;
        if self.controller == Controller::Mirroring {
            let without_selector = with(&scenario::service(BARRIER), "/spec/selector", Value::Null);
            self.apply(&without_selector).await?;
            self.apply(&scenario::endpoints(BARRIER, &["10.9.0.1"], 80)).await?;
        }
        let uids = async || -> Result<Vec<String>> {
            let slices = self.slices(BARRIER).await?;
            Ok(slices.iter().filter_map(ResourceExt::uid).collect())
        };
        self.wait("slice", async || Ok(!uids().await?.is_empty())).await?;
        let before = uids().await?;
        self.change(&scenario::delete_slices(BARRIER)).await?;
        self.wait("second slice", async || {
            let found = uids().await?;
            Ok(!found.is_empty() && found.iter().all(|uid| !before.contains(uid)))
        })
        .await
    }

    /// Deletes the slices of a Service whose owner has not this uid, as the garbage collector does.
    pub(super) async fn collect_garbage(&self, service: &str, owner_uid: &str) -> Result<()> {
        let api: Api<EndpointSlice> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        for slice in self.slices(service).await? {
            if slice.owner_references().iter().any(|owner| owner.uid == owner_uid) {
                continue;
            }
            self.recorder.record_manual_deletion(&slice);
            match api.delete(&slice.name_any(), &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                result => drop(result?),
            }
        }
        Ok(())
    }

    /// The uid of a Service or an Endpoints object.
    pub(super) async fn uid(&self, kind: &str, name: &str) -> Result<String> {
        let api = testenv::objects::api(&self.cluster.client, &self.namespace, kind);
        let object = api.context("an unknown kind")?.get(name).await?;
        object.uid().context("an object without uid")
    }

    /// Names of the slices that were created for a Service, by uid.
    pub(super) fn created(&self, service: &str) -> Result<BTreeMap<String, String>> {
        let history = self.recorder.history()?;
        let slices = history.events().filter_map(|event| match event.object() {
            Object::EndpointSlice(slice) => Some(slice),
            _ => None,
        });
        let of_service = slices.filter(|slice| {
            slice
                .labels()
                .get("kubernetes.io/service-name")
                .is_some_and(|name| name == service)
        });
        Ok(of_service
            .filter_map(|slice| Some((slice.uid()?, slice.name_any())))
            .collect())
    }

    /// The client without faults.
    pub(super) fn client(&self) -> kube::Client {
        self.cluster.client.clone()
    }

    /// Waits until the cluster is quiescent, and checks its state; with our controllers also every revision. Upstream adopts
    /// slices and exchanges endpoints by design, which is not what the scenarios are about.
    pub(super) async fn check_history(&self) -> Result<()> {
        self.wait_quiescent().await?;
        let default = CheckConfig::default();
        let config = match self.controller {
            Controller::Services => CheckConfig {
                mirroring: None,
                ..default
            },
            Controller::Mirroring => CheckConfig {
                services: None,
                ..default
            },
        };
        let history = self.recorder.history()?;
        let violations = match self.implementation {
            Implementation::Ours(_) => verify(&history, &config).violations,
            Implementation::Upstream => check_final_state(&history, &config),
        };
        match violations.first() {
            None => Ok(()),
            Some(violation) => self.failed(violation.to_string()),
        }
    }

    /// Stops the controller and deletes the nodes, which are not namespaced.
    pub(super) async fn clean_up(mut self) -> Result<()> {
        let stopped = self.stop_controller().await;
        for name in &self.nodes {
            self.cluster.delete_node(name).await?;
        }
        stopped
    }
}

/// Address, readiness and hints of an endpoint.
fn describe(endpoint: &Endpoint) -> String {
    let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
    let mut text = endpoint.addresses.join(" ");
    text.push_str(if ready == Some(true) { " ready" } else { " not ready" });
    let hints = endpoint.hints.clone().unwrap_or_default();
    let zones = hints.for_zones.into_iter().flatten().map(|zone| zone.name);
    let nodes = hints.for_nodes.into_iter().flatten().map(|node| node.name);
    for name in zones.chain(nodes) {
        text.push_str(" for ");
        text.push_str(&name);
    }
    text
}
