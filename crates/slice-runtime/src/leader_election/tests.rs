//! Leader election of whole instances on the simulated API server.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use apisim::{
    ApiSim,
    faults::{FaultService, Faults, Match, Rule, StreamFault},
    request::Verb,
};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    serde::de::DeserializeOwned,
};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use service_slices::controller::{Config, ServiceController};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::Instant,
};

use super::*;
use crate::{Health, Metrics, RunError, RunOptions, health::ElectionState, run::run_with_debug};

/// A cluster with the Service `web` and the ready pod `pod-1`.
struct Cluster {
    sim: ApiSim,
    client: kube::Client,
}

/// A running instance, and the faults of its requests.
struct Instance {
    faults: Faults,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Cluster {
    async fn new() -> Self {
        let sim = ApiSim::new();
        let client = kube::Client::new(sim.clone(), "default");
        let cluster = Self { sim, client };
        cluster.create::<Node>(json!({"metadata": {"name": "node"}})).await;
        let service = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        });
        cluster.create::<Service>(service).await;
        cluster.add_pod(1).await;
        cluster
    }

    async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<DynamicType = ()> + serde::Serialize + DeserializeOwned + Clone + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        let request = kube::core::Request::new(K::url_path(&(), object.meta().namespace.as_deref()));
        let request = request.create(&PostParams::default(), serde_json::to_vec(&object).unwrap());
        self.client.request::<K>(request.unwrap()).await.unwrap();
    }

    async fn add_pod(&self, number: u8) {
        let pod = json!({
            "metadata": {"name": format!("pod-{number}"), "namespace": "default", "labels": {"app": "web"}},
            "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]},
        });
        self.create::<Pod>(pod).await;
        let ip = format!("10.0.0.{number}");
        let status = json!({"status": {
            "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let name = format!("pod-{number}");
        pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }

    fn start(&self, identity: &str) -> Instance {
        self.start_with(identity, Faults::default())
    }

    fn start_with(&self, identity: &str, faults: Faults) -> Instance {
        self.start_on(LeaseClock::tokio(), identity, faults)
    }

    fn start_on(&self, clock: LeaseClock, identity: &str, faults: Faults) -> Instance {
        let client = kube::Client::new(FaultService::new(self.sim.clone(), faults.clone()), "default");
        let controller = ServiceController::new(Config {
            managed_by: "us".to_owned(),
            max_endpoints_per_slice: NonZeroUsize::new(100).unwrap(),
            batch_period: Duration::ZERO,
            service_selector: String::new(),
        });
        let options = RunOptions {
            leader_election: Some(LeaderElection::new("lock", identity)),
            ..RunOptions::new("us", "us")
        };
        let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::new("test", "test")));
        let (stop, stopped) = oneshot::channel();
        let run = run_with_debug(
            controller,
            client.into(),
            options,
            Arc::clone(&health),
            Arc::clone(&metrics),
            mpsc::channel(1).1,
            clock,
            async { drop(stopped.await) },
        );
        Instance {
            faults,
            metrics,
            health,
            stop: Some(stop),
            task: tokio::spawn(run),
        }
    }

    /// The published addresses, each as often as it is published.
    async fn published(&self) -> Vec<String> {
        let slices: Api<EndpointSlice> = Api::all(self.client.clone());
        let slices = slices.list(&ListParams::default()).await.unwrap();
        let endpoints = slices
            .items
            .into_iter()
            .flat_map(|slice| slice.endpoints.unwrap_or_default());
        let mut addresses: Vec<String> = endpoints.flat_map(|endpoint| endpoint.addresses).collect();
        addresses.sort();
        addresses
    }

    /// Waits until this many addresses are published. Returns the time that it took.
    async fn publishes(&self, pods: u8) -> Duration {
        let started_at = Instant::now();
        let expected: Vec<String> = (1..=pods).map(|number| format!("10.0.0.{number}")).collect();
        while self.published().await != expected {
            assert!(
                started_at.elapsed() < Duration::from_secs(600),
                "{:?}",
                self.published().await
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        started_at.elapsed()
    }

    async fn holder(&self) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-system");
        leases.get("lock").await.unwrap().spec.unwrap().holder_identity
    }
}

fn slice_writes() -> Match {
    Match::writes().resource("endpointslices")
}

impl Instance {
    fn writes(&self) -> usize {
        self.faults.count(&slice_writes())
    }

    async fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        assert_eq!((&mut self.task).await.unwrap(), Ok(()));
    }

    fn leads(&self) -> bool {
        let page = self.metrics.page();
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix("leader_election_master_status{name=\"lock\"} "));
        value.unwrap() == "1"
    }
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// A single instance does not wait: its lists begin after it has acquired the lease.
#[tokio::test(start_paused = true)]
async fn a_single_instance_writes_at_once() {
    let cluster = Cluster::new().await;
    let a = cluster.start("a");
    assert!(cluster.publishes(1).await < Duration::from_secs(1));
    assert_eq!((cluster.holder().await.as_deref(), a.leads()), (Some("a"), true));
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_the_lease_is_released_and_the_standby_takes_over() {
    let cluster = Cluster::new().await;
    let mut a = cluster.start("a");
    cluster.publishes(1).await;
    let b = cluster.start("b");
    seconds(60).await;
    assert_eq!((b.writes(), b.leads()), (0, false));
    assert_eq!(a.health.election(), Some(ElectionState::Leading));
    assert_eq!(
        b.health.election(),
        Some(ElectionState::StandingBy(Some("a".to_owned())))
    );
    a.stop().await;
    assert_eq!(cluster.holder().await.as_deref(), Some(""));
    cluster.add_pod(2).await;
    // Two retry periods and 3 s.
    assert!(cluster.publishes(2).await < Duration::from_secs(7));
    assert_eq!(b.writes(), 1);
    assert!(b.leads());
}

/// Nothing is written because of the change of the leader alone (I6).
#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_replaced_after_the_lease_duration() {
    let cluster = Cluster::new().await;
    let a = cluster.start("a");
    cluster.publishes(1).await;
    let b = cluster.start("b");
    seconds(60).await;
    a.task.abort();
    seconds(60).await;
    assert_eq!((b.writes(), b.leads()), (0, true));
    assert_eq!(cluster.published().await.len(), 1);
    cluster.add_pod(2).await;
    assert!(cluster.publishes(2).await < Duration::from_secs(1));
}

/// The leader is cut off from the lease only (F19): it writes until the renew deadline, and not after it.
#[tokio::test(start_paused = true)]
async fn no_write_is_sent_after_the_renew_deadline() {
    let cluster = Cluster::new().await;
    let a = cluster.start("a");
    cluster.publishes(1).await;
    let held = a
        .faults
        .add(Rule::when(Match::default().resource("leases")).hold_request());
    // Renewed at most 2 s before.
    seconds(7).await;
    cluster.add_pod(2).await;
    cluster.publishes(2).await;
    seconds(4).await;
    let writes = a.writes();
    cluster.add_pod(3).await;
    seconds(60).await;
    assert_eq!((a.writes(), a.leads()), (writes, false));
    held.remove();
    cluster.publishes(3).await;
    assert!(a.leads());
    // The first write of a later term is not sent twice.
    assert_eq!(a.writes(), writes + 1);
}

/// A write without a response is given up at the renew deadline, and the term ends.
#[tokio::test(start_paused = true)]
async fn no_response_is_waited_for_after_the_renew_deadline() {
    let cluster = Cluster::new().await;
    let a = cluster.start("a");
    cluster.publishes(1).await;
    let lease = a
        .faults
        .add(Rule::when(Match::default().resource("leases")).hold_request());
    let write = a.faults.add(Rule::when(slice_writes()).hold_request());
    seconds(6).await;
    cluster.add_pod(2).await;
    // The timeout of a request is 15 s.
    seconds(6).await;
    assert!(!a.leads());
    write.remove();
    seconds(60).await;
    assert_eq!(cluster.published().await.len(), 1, "the write was cancelled");
    lease.remove();
    cluster.publishes(2).await;
}

/// A standby whose view is older than that of the leader before decides nothing before it has caught up (I4, I6).
#[tokio::test(start_paused = true)]
async fn a_new_leader_decides_nothing_from_an_old_view() {
    let cluster = Cluster::new().await;
    let mut a = cluster.start("a");
    cluster.publishes(1).await;
    let faults = Faults::default();
    let b = cluster.start_with("b", faults.clone());
    seconds(30).await;
    let held = faults.add(Rule::on(Verb::Watch, "pods").stream(StreamFault::Hold));
    seconds(15).await;
    cluster.add_pod(2).await;
    cluster.publishes(2).await;
    a.stop().await;
    seconds(60).await;
    assert_eq!((b.writes(), b.leads()), (0, true));
    assert_eq!(cluster.published().await.len(), 2);
    held.remove();
    cluster.add_pod(3).await;
    cluster.publishes(3).await;
    assert_eq!(b.writes(), 1);
}

/// The lease is requested without success: the caches are filled nevertheless, and nothing is written.
#[tokio::test(start_paused = true)]
async fn without_permission_for_the_lease_nothing_is_written() {
    let cluster = Cluster::new().await;
    let faults = Faults::default();
    let denied = faults.add(Rule::when(Match::default().resource("leases")).answer(403));
    let a = cluster.start_with("a", faults);
    seconds(60).await;
    assert_eq!((a.writes(), a.leads()), (0, false));
    assert_eq!(a.faults.open_streams(&Match::verb(Verb::Watch)), 4);
    let state = a.health.election().unwrap();
    assert!(
        matches!(&state, ElectionState::Failed(error) if error.contains("403")),
        "{state:?}"
    );
    denied.remove();
    cluster.publishes(1).await;
}

/// A renewal that succeeds without a response must not cost the lease.
#[tokio::test(start_paused = true)]
async fn a_lost_response_to_a_renewal_does_not_end_the_term() {
    let cluster = Cluster::new().await;
    let a = cluster.start("a");
    cluster.publishes(1).await;
    a.faults.add(Rule::on(Verb::Update, "leases").times(3).drop_answer());
    for _ in 0..60 {
        seconds(1).await;
        assert!(a.leads());
    }
}

/// A term can end before the runner has seen it, and a response can arrive after its term (F20).
#[tokio::test(start_paused = true)]
async fn an_instance_leads_again_whenever_its_machine_was_suspended() {
    for read in 0..40 {
        let cluster = Cluster::new().await;
        let clock = LeaseClock::suspended_before_read(read);
        let instance = cluster.start_on(clock, "a", Faults::default());
        let duration = cluster.publishes(1).await;
        assert!(duration < Duration::from_secs(30), "read {read}: {duration:?}");
        instance.task.abort();
    }
}
