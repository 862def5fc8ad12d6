//! A controller behind the fault proxy, in a namespace of its own on a shared control plane.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use apisim::{
    faults::{Faults, Match, Recorded},
    request::Verb,
};
use http::Version;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use slice_oracle::{CheckConfig, Manager, Recorder, assert_clean};
use testenv::{
    CONTROLLERS, ControlPlane, ControllerProcess, FaultProxy, Protocol, ProxyProtocols,
    objects::{api, create, ready_addresses, slices_of},
    until,
};
use tokio::{
    sync::{Mutex, MutexGuard, OnceCell},
    time::Instant,
};

use crate::fixtures::{self, NODE, address, pod_name};

/// The cluster is quiescent after this long without a slice event.
const IDLE: Duration = Duration::from_secs(2);
/// Small, so that few pods need several slices.
pub(crate) const MAX_ENDPOINTS: usize = 2;
/// The Service of every test, and the numbers of its first pods.
pub(crate) const SERVICE: &str = "web";
pub(crate) const PODS: RangeInclusive<usize> = 1..=3;

/// Shared by the tests that only inject faults into their own requests; killed with the test process.
static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
/// For tests that stop its components, one after the other.
static DISRUPTED: OnceCell<ControlPlane> = OnceCell::const_new();
static DISRUPTED_TURN: Mutex<()> = Mutex::const_new(());
/// For tests that replace the data of etcd, one after the other.
static RESTORED: OnceCell<ControlPlane> = OnceCell::const_new();
static RESTORED_TURN: Mutex<()> = Mutex::const_new(());
/// Built once for all tests.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| testenv::build(&CONTROLLERS[..1]).unwrap().remove(0));

/// A control plane with one node, started once.
async fn start_once(cell: &'static OnceCell<ControlPlane>, arguments: &[&str]) -> &'static ControlPlane {
    cell.get_or_init(async || {
        let builder = arguments.iter().fold(ControlPlane::builder(), |builder, argument| {
            builder.apiserver_arg(*argument)
        });
        let control_plane = builder.start().await.unwrap();
        put(&control_plane.client().unwrap(), "", &fixtures::node(NODE)).await;
        control_plane
    })
    .await
}

/// The control plane of tests that only inject faults into their own requests.
pub(crate) async fn shared() -> &'static ControlPlane {
    start_once(&SHARED, &[]).await
}

/// The controller for Services, built once.
pub(crate) async fn program() -> &'static Path {
    tokio::task::spawn_blocking(|| LazyLock::force(&PROGRAM)).await.unwrap()
}

/// A controller behind the fault proxy, and a recorder beside it.
pub(crate) struct Harness {
    pub(crate) control_plane: &'static ControlPlane,
    /// A client without faults.
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) proxy: FaultProxy<'static>,
    pub(crate) recorder: Recorder,
    protocol: Protocol,
    controller: Option<ControllerProcess>,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Harness {
    /// A namespace on the shared control plane with the Service [`SERVICE`] and the pods [`PODS`], which the controller has
    /// published. The record of requests begins here.
    pub(crate) async fn start(row: &str, protocol: Protocol) -> Self {
        let mut harness = Self::on(shared().await, row, protocol, None).await;
        harness.publish().await;
        harness
    }

    /// The same, on a control plane whose components the test may stop.
    pub(crate) async fn start_disrupted(row: &str, protocol: Protocol) -> Self {
        let turn = DISRUPTED_TURN.lock().await;
        // With a watch cache, the recorder could not continue after a restart.
        let control_plane = start_once(&DISRUPTED, &["--watch-cache=false"]).await;
        let mut harness = Self::on(control_plane, row, protocol, Some(turn)).await;
        harness.publish().await;
        harness
    }

    /// The same, on a control plane whose data the test may replace.
    pub(crate) async fn start_restored(row: &str, protocol: Protocol) -> Self {
        let turn = RESTORED_TURN.lock().await;
        let mut harness = Self::on(start_once(&RESTORED, &[]).await, row, protocol, Some(turn)).await;
        harness.publish().await;
        harness
    }

    async fn on(
        control_plane: &'static ControlPlane,
        row: &str,
        protocol: Protocol,
        turn: Option<MutexGuard<'static, ()>>,
    ) -> Self {
        let client = control_plane.client().unwrap();
        let namespace = format!("{row}-{protocol:?}").to_lowercase();
        put(
            &client,
            "",
            &json!({"kind": "Namespace", "metadata": {"name": namespace}}),
        )
        .await;
        let protocols = ProxyProtocols {
            clients: protocol,
            upstream: Protocol::Http1,
        };
        let recorder = Recorder::start_namespaced(client.clone(), &namespace).await.unwrap();
        let harness = Self {
            control_plane,
            client,
            proxy: FaultProxy::start_with(control_plane, protocols).await.unwrap(),
            recorder,
            namespace,
            protocol,
            controller: None,
            _turn: turn,
        };
        harness.put(&fixtures::service(SERVICE)).await;
        for number in PODS {
            harness.put(&fixtures::pod(number)).await;
        }
        harness
    }

    async fn publish(&mut self) {
        self.start_controller().await;
        self.controller().wait_ready().await.unwrap();
        self.wait_published(SERVICE, PODS).await;
        self.recorder.wait_quiescent(Duration::ZERO).await.unwrap();
        self.faults().clear_log();
    }

    /// Starts the controller, without waiting for its initial lists.
    pub(crate) async fn start_controller(&mut self) {
        let kubeconfig = self.proxy.kubeconfig(self.control_plane.admin()).unwrap();
        self.start_controller_with(&kubeconfig.path).await;
    }

    /// Starts the controller again, without the proxy: a proxy responds to pings while the API server is stopped.
    pub(crate) async fn restart_without_proxy(&mut self) {
        self.stop_controller().await;
        let kubeconfig = self.control_plane.kubeconfig(self.control_plane.admin()).unwrap();
        self.start_controller_with(&kubeconfig.path).await;
        self.controller().wait_ready().await.unwrap();
    }

    async fn start_controller_with(&mut self, kubeconfig: &Path) {
        let program = program().await;
        let arguments = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--namespace={}", self.namespace),
            format!("--max-endpoints-per-slice={MAX_ENDPOINTS}"),
            format!("--disable-http2={}", self.protocol == Protocol::Http1),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.controller = Some(ControllerProcess::start(program, &arguments).await.unwrap());
    }

    /// Stops the controller, which must succeed.
    pub(crate) async fn stop_controller(&mut self) {
        let output = self.controller.take().unwrap().stop().await.unwrap();
        assert!(!output.contains("panicked"), "{output}");
    }

    pub(crate) fn controller(&self) -> &ControllerProcess {
        self.controller.as_ref().unwrap()
    }

    pub(crate) fn faults(&self) -> &Faults {
        self.proxy.faults()
    }

    pub(crate) fn slices(&self) -> Api<EndpointSlice> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Creates an object with its status.
    pub(crate) async fn put(&self, object: &Value) {
        put(&self.client, &self.namespace, object).await;
    }

    /// Deletes a pod at once.
    pub(crate) async fn delete_pod(&self, number: usize) {
        self.delete("Pod", &pod_name(number)).await;
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let api = api(&self.client, &self.namespace, kind).unwrap();
        api.delete(name, &DeleteParams::default().grace_period(0))
            .await
            .unwrap();
    }

    /// Deletes a slice as another client.
    pub(crate) async fn delete_slice(&self, slice: &EndpointSlice) {
        self.recorder.record_manual_deletion(slice);
        self.delete("EndpointSlice", slice.metadata.name.as_deref().unwrap())
            .await;
    }

    /// Patches a slice as another client.
    pub(crate) async fn patch_slice(&self, slice: &EndpointSlice, patch: Value) {
        let name = slice.metadata.name.as_deref().unwrap();
        let patched = self
            .slices()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        self.recorder.record_manual_write(&patched.unwrap());
    }

    pub(crate) async fn slices_of(&self, service: &str) -> Vec<EndpointSlice> {
        slices_of(&self.client, &self.namespace, service).await.unwrap()
    }

    /// Waits until the slices of a Service have exactly these pods, each once and ready.
    pub(crate) async fn wait_published(&self, service: &str, pods: impl IntoIterator<Item = usize>) {
        let mut expected: Vec<String> = pods.into_iter().map(address).collect();
        expected.sort_unstable();
        let is_published = async || {
            let slices = self.slices_of(service).await;
            ready_addresses(&slices).is_some_and(|addresses| addresses == expected)
        };
        if let Err(error) = until(&format!("publication of {expected:?} for {service}"), is_published).await {
            let output = self.controller.as_ref().map(|controller| controller.process.output());
            panic!("{error}\n{}", output.unwrap_or_default());
        }
    }

    /// The requests for slices that wrote, or tried to, by verb and status; 0 for no response.
    pub(crate) fn writes(&self) -> BTreeMap<(Verb, u16), usize> {
        let mut writes = BTreeMap::new();
        for write in self.faults().requests(&slice_writes()) {
            let status = write.status.map_or(0, |status| status.as_u16());
            *writes.entry((write.request.verb, status)).or_default() += 1;
        }
        writes
    }

    /// Number of lists, as pages or as streams.
    pub(crate) fn lists(&self) -> usize {
        let requests = self.faults().requests(&Match::default());
        requests.iter().filter(|request| request.is_list()).count()
    }

    /// The most connections that the controller opened within a second, from `start` on.
    pub(crate) fn connections_per_second(&self, start: Instant) -> usize {
        let opened: Vec<Instant> = self.proxy.connections().opened().iter().map(|one| one.at).collect();
        let opened: Vec<Instant> = opened.into_iter().filter(|at| *at >= start).collect();
        let in_second = |first: &Instant| {
            let second = *first..*first + Duration::from_secs(1);
            opened.iter().filter(|at| second.contains(at)).count()
        };
        opened.iter().map(in_second).max().unwrap_or_default()
    }

    /// Waits until the cluster is quiescent.
    pub(crate) async fn wait_quiescent(&self) {
        self.recorder.wait_quiescent(IDLE).await.unwrap();
    }

    /// Waits until the cluster is quiescent, checks its history and stops the controller.
    pub(crate) async fn finish(self) {
        self.wait_quiescent().await;
        let history = self.recorder.history().unwrap();
        assert_clean(&history, &config(), env!("CARGO_TARGET_TMPDIR"));
        self.stop().await;
    }

    /// Stops the controller. It must have used the protocol of the test, and no other.
    pub(crate) async fn stop(mut self) {
        self.stop_controller().await;
        let expected = match self.protocol {
            Protocol::Http1 => Version::HTTP_11,
            Protocol::Http2 => Version::HTTP_2,
        };
        let requests = self.faults().requests(&Match::default());
        let is_other = |recorded: &&Recorded| recorded.version != expected;
        assert_eq!(requests.iter().filter(is_other).count(), 0);
    }
}

/// Only the controller for Services runs.
pub(crate) fn config() -> CheckConfig {
    let default = CheckConfig::default();
    CheckConfig {
        services: default.services.map(|services| Manager {
            max_endpoints: MAX_ENDPOINTS,
            ..services
        }),
        mirroring: None,
        // Some rows hold requests or streams for longer than the default.
        lag: Duration::from_secs(120),
        ..CheckConfig::default()
    }
}

/// Writes of slices.
pub(crate) fn slice_writes() -> Match {
    Match::writes().resource("endpointslices")
}

pub(crate) async fn put(client: &Client, namespace: &str, object: &Value) {
    let api = api(client, namespace, object["kind"].as_str().unwrap()).unwrap();
    create(&api, object.clone()).await.unwrap();
    if let Some(status) = object.get("status") {
        let patch = Patch::Merge(json!({"status": status}));
        let name = object["metadata"]["name"].as_str().unwrap();
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }
}
