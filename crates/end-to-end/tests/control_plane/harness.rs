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
    CONTROLLERS, ControlPlane, ControllerProcess, FaultProxy, Protocol, ProxyProtocols, User,
    objects::{api, create, ready_addresses, slices_of},
    until,
};
use tokio::{sync::MutexGuard, time::Instant};

use crate::{
    accounts::Accounts,
    environment::{self, Environment, shared},
    fixtures::{self, address, pod_name},
};

/// The cluster is quiescent after this long without a slice event.
const IDLE: Duration = Duration::from_secs(2);
/// Small, so that few pods need several slices.
pub(crate) const MAX_ENDPOINTS: usize = 2;
/// The Service of every test, and the numbers of its first pods (or addresses of its Endpoints).
pub(crate) const SERVICE: &str = "web";
pub(crate) const PODS: RangeInclusive<usize> = 1..=3;
/// The label of a row's Services, by which a controller for all namespaces selects them.
const ROW: &str = "example.com/row";

/// Built once for all tests, in the order of [`CONTROLLERS`].
static PROGRAMS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| testenv::build(&CONTROLLERS).unwrap());

/// The controller under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tested {
    /// The controller for Services with a selector.
    Services,
    /// The mirroring controller: the Services have no selector but Endpoints.
    Mirroring,
}

/// What the controller watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The namespace of the row.
    Namespace,
    /// The Services of the row in all namespaces.
    AllNamespaces,
}

/// The programs, built once: the controller for Services, and the one for mirroring.
pub(crate) async fn programs() -> &'static [PathBuf] {
    tokio::task::spawn_blocking(|| LazyLock::force(&PROGRAMS))
        .await
        .unwrap()
}

/// A controller behind the fault proxy, and a recorder beside it.
pub(crate) struct Harness {
    pub(crate) control_plane: &'static ControlPlane,
    accounts: Accounts,
    /// A client without faults.
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) proxy: FaultProxy<'static>,
    pub(crate) recorder: Recorder,
    protocol: Protocol,
    tested: Tested,
    scope: Scope,
    /// Arguments of the controller, in addition to those of every test.
    arguments: Vec<String>,
    controller: Option<ControllerProcess>,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Harness {
    /// A namespace on the shared control plane with the Service [`SERVICE`] and the pods [`PODS`], which the controller has
    /// published. The record of requests begins here.
    pub(crate) async fn start(row: &str, protocol: Protocol) -> Self {
        Self::start_tested(Tested::Services, row, protocol).await
    }

    /// The same, for either controller.
    pub(crate) async fn start_tested(tested: Tested, row: &str, protocol: Protocol) -> Self {
        let mut harness = Self::on(shared().await, row, protocol, None).await;
        harness.tested = tested;
        harness.publish().await;
        harness
    }

    /// Only the objects. The controller is yet to be started, with these arguments in addition and for all namespaces.
    pub(crate) async fn prepare(tested: Tested, row: &str, protocol: Protocol, arguments: Vec<String>) -> Self {
        let mut harness = Self::on(shared().await, row, protocol, None).await;
        harness.tested = tested;
        harness.scope = Scope::AllNamespaces;
        harness.arguments = arguments;
        harness.put_objects().await;
        harness
    }

    /// As [`start`](Self::start), with a controller that also watches other namespaces, where [`put_in`](Self::put_in) creates
    /// Services.
    pub(crate) async fn start_for_all_namespaces(row: &str, protocol: Protocol) -> Self {
        let mut harness = Self::on(shared().await, row, protocol, None).await;
        harness.scope = Scope::AllNamespaces;
        harness.publish().await;
        harness
    }

    /// As [`start`](Self::start), on a control plane whose components the test may stop.
    pub(crate) async fn start_disrupted(row: &str, protocol: Protocol) -> Self {
        let (environment, turn) = environment::disrupted().await;
        let mut harness = Self::on(environment, row, protocol, Some(turn)).await;
        harness.publish().await;
        harness
    }

    /// The same, on a control plane whose data the test may replace.
    pub(crate) async fn start_restored(row: &str, protocol: Protocol) -> Self {
        let (environment, turn) = environment::restored().await;
        let mut harness = Self::on(environment, row, protocol, Some(turn)).await;
        harness.publish().await;
        harness
    }

    async fn on(
        environment: &'static Environment,
        row: &str,
        protocol: Protocol,
        turn: Option<MutexGuard<'static, ()>>,
    ) -> Self {
        let control_plane = &environment.control_plane;
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
        Self {
            control_plane,
            accounts: environment.accounts(),
            client,
            proxy: FaultProxy::start_with(control_plane, protocols).await.unwrap(),
            recorder,
            namespace,
            protocol,
            tested: Tested::Services,
            scope: Scope::Namespace,
            arguments: Vec::new(),
            controller: None,
            _turn: turn,
        }
    }

    async fn put_objects(&self) {
        self.put_service(SERVICE, PODS).await;
        if self.tested == Tested::Services {
            for number in PODS {
                self.put(&fixtures::pod(number)).await;
            }
        }
    }

    async fn publish(&mut self) {
        self.put_objects().await;
        self.start_controller().await;
        self.controller().wait_ready().await.unwrap();
        self.wait_published(SERVICE, PODS).await;
        self.recorder.wait_quiescent(Duration::ZERO).await.unwrap();
        self.faults().clear_log();
    }

    /// Starts the controller, without waiting for its initial lists.
    pub(crate) async fn start_controller(&mut self) {
        let kubeconfig = self.proxy.kubeconfig(self.account(self.tested)).unwrap();
        self.start_controller_with(&kubeconfig.path).await;
    }

    /// Starts the controller again, without the proxy: a proxy responds to pings while the API server is stopped.
    pub(crate) async fn restart_without_proxy(&mut self) {
        self.stop_controller().await;
        let kubeconfig = self.control_plane.kubeconfig(self.account(self.tested)).unwrap();
        self.start_controller_with(&kubeconfig.path).await;
        self.controller().wait_ready().await.unwrap();
    }

    /// The account of a controller.
    pub(crate) fn account(&self, tested: Tested) -> &User {
        &self.accounts.users[tested as usize]
    }

    /// Starts the controller with another kubeconfig.
    pub(crate) async fn start_controller_with(&mut self, kubeconfig: &Path) {
        self.controller = Some(self.start_process(self.tested, kubeconfig).await);
    }

    /// Starts the mirroring controller beside the controller under test.
    pub(crate) async fn start_mirroring_too(&self) -> ControllerProcess {
        let kubeconfig = self.proxy.kubeconfig(self.account(Tested::Mirroring)).unwrap();
        let controller = self.start_process(Tested::Mirroring, &kubeconfig.path).await;
        controller.wait_ready().await.unwrap();
        controller
    }

    async fn start_process(&self, tested: Tested, kubeconfig: &Path) -> ControllerProcess {
        let programs = programs().await;
        let mut arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--disable-http2={}", self.protocol == Protocol::Http1),
            match self.scope {
                Scope::Namespace => format!("--namespace={}", self.namespace),
                Scope::AllNamespaces => format!("--service-selector={ROW}={}", self.namespace),
            },
        ];
        let program = match tested {
            Tested::Services => {
                arguments.push(format!("--max-endpoints-per-slice={MAX_ENDPOINTS}"));
                &programs[0]
            }
            Tested::Mirroring => &programs[1],
        };
        let arguments = arguments.iter().chain(&self.arguments);
        let arguments: Vec<&str> = arguments.map(String::as_str).collect();
        ControllerProcess::start(program, &arguments).await.unwrap()
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
        self.put_in(&self.namespace, object).await;
    }

    /// Creates an object with its status, in any namespace.
    pub(crate) async fn put_in(&self, namespace: &str, object: &Value) {
        let mut object = object.clone();
        if object["kind"] == "Service" {
            object["metadata"]["labels"][ROW] = self.namespace.clone().into();
        }
        put(&self.client, namespace, &object).await;
    }

    /// Creates a Service that the controller under test publishes with these endpoints. Pods are selected by every Service, so
    /// the numbers only matter to the mirroring controller.
    pub(crate) async fn put_service(&self, name: &str, endpoints: impl IntoIterator<Item = usize>) {
        match self.tested {
            Tested::Services => self.put(&fixtures::service(name)).await,
            Tested::Mirroring => self.put_mirrored(name, endpoints).await,
        }
    }

    /// Creates a Service without a selector, and its Endpoints.
    pub(crate) async fn put_mirrored(&self, name: &str, addresses: impl IntoIterator<Item = usize>) {
        self.put(&fixtures::service_without_selector(name)).await;
        self.put(&fixtures::endpoints(name, addresses)).await;
    }

    /// Adds the next endpoint to all Services: a pod, or an address of these Endpoints.
    pub(crate) async fn add_endpoint(&self, number: usize, services: &[&str]) {
        if self.tested == Tested::Services {
            return self.put(&fixtures::pod(number)).await;
        }
        for service in services {
            self.replace_endpoints(service, 1..=number).await;
        }
    }

    /// Replaces the addresses of an Endpoints object.
    pub(crate) async fn replace_endpoints(&self, name: &str, addresses: impl IntoIterator<Item = usize>) {
        let patch = json!({"subsets": fixtures::endpoints(name, addresses)["subsets"]});
        let api = api(&self.client, &self.namespace, "Endpoints").unwrap();
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
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

    /// Waits until the slices of a Service have this pod, and it is not ready.
    pub(crate) async fn wait_not_ready(&self, service: &str, pod: usize) {
        until("the endpoint that is not ready", async || {
            let slices = self.slices_of(service).await;
            let mut endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            endpoints.any(|endpoint| {
                let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready);
                endpoint.addresses[0] == address(pod) && ready == Some(false)
            })
        })
        .await
        .unwrap();
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

    /// The resourceVersion that each watch of the controller has reached.
    pub(crate) async fn positions(&self) -> BTreeMap<String, u64> {
        let (_, page) = self.controller().get("/debug/state").await.unwrap();
        let page: Value = serde_json::from_str(&page).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let watches = page["watches"].as_array().unwrap().iter();
        watches
            .map(|watch| {
                let version = text(&watch["resource_version"]).parse().unwrap();
                (text(&watch["resource"]), version)
            })
            .collect()
    }

    /// Number of lists, as pages or as streams.
    pub(crate) fn lists(&self) -> usize {
        let requests = self.faults().requests(&Match::default());
        requests.iter().filter(|recorded| is_list(recorded)).count()
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
        assert_clean(&history, &config(self.tested), env!("CARGO_TARGET_TMPDIR"));
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

/// Whether a request lists objects. The probe for resourceVersions that went back is a list of one object.
pub(crate) fn is_list(recorded: &Recorded) -> bool {
    recorded.is_list() && !recorded.query.split('&').any(|parameter| parameter == "limit=1")
}

/// The checks for one running controller.
pub(crate) fn config(tested: Tested) -> CheckConfig {
    let both = config_of_both();
    match tested {
        Tested::Services => CheckConfig {
            mirroring: None,
            ..both
        },
        Tested::Mirroring => CheckConfig { services: None, ..both },
    }
}

/// The checks for both controllers.
pub(crate) fn config_of_both() -> CheckConfig {
    let default = CheckConfig::default();
    CheckConfig {
        services: default.services.map(|services| Manager {
            max_endpoints: MAX_ENDPOINTS,
            ..services
        }),
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
