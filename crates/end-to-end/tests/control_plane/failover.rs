//! Two replicas of the controller with one Lease: failovers, frozen and cut off leaders (F18–F20). Each replica has a proxy of its
//! own, whose record shows what it wrote.

use std::time::Duration;

use apisim::faults::{Match, Rule};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use serde_json::json;
use slice_oracle::{Recorder, Window, assert_clean};
use testenv::{
    ControllerProcess, FaultProxy, Signal,
    objects::{api, create, ready_addresses, slices_of},
    until,
};
use tokio::time::Instant;

use crate::{
    accounts::Accounts,
    environment::{Environment, shared},
    fixtures::{self, address},
    harness::{MAX_ENDPOINTS, SERVICE, Tested, config, programs, put, slice_writes},
};

/// Without a slice event for this long, the cluster is quiescent.
const IDLE: Duration = Duration::from_secs(2);
/// The name of the Lease: that of the program.
const LEASE: &str = "endpointslice-controller";
/// Short times, for tests that do not measure them.
const SHORT: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
];

/// A namespace with the Lease, the Service and pods.
struct Cluster {
    environment: &'static Environment,
    accounts: Accounts,
    client: Client,
    namespace: String,
    recorder: Recorder,
}

/// A controller with leader election, behind a proxy.
struct Replica {
    proxy: FaultProxy<'static>,
    process: ControllerProcess,
}

impl Cluster {
    async fn new(namespace: &str) -> Self {
        let environment = shared().await;
        let client = environment.control_plane.client().unwrap();
        put(
            &client,
            "",
            &json!({"kind": "Namespace", "metadata": {"name": namespace}}),
        )
        .await;
        environment.allow_lease_in(namespace).await;
        let cluster = Self {
            recorder: Recorder::start_namespaced(client.clone(), namespace).await.unwrap(),
            accounts: environment.accounts(),
            environment,
            client,
            namespace: namespace.to_owned(),
        };
        put(&cluster.client, namespace, &fixtures::service(SERVICE)).await;
        cluster.add_pods(1..=3).await;
        cluster
    }

    async fn add_pods(&self, pods: impl IntoIterator<Item = usize>) {
        for number in pods {
            put(&self.client, &self.namespace, &fixtures::pod(number)).await;
        }
    }

    async fn start(&self, arguments: &[&str]) -> Replica {
        let Environment { control_plane, .. } = self.environment;
        let proxy = FaultProxy::start(control_plane).await.unwrap();
        let account = &self.accounts.users[Tested::Services as usize];
        let kubeconfig = proxy.kubeconfig(account).unwrap();
        let own = [
            format!("--kubeconfig={}", kubeconfig.path.display()),
            format!("--namespace={}", self.namespace),
            format!("--leader-elect-resource-namespace={}", self.namespace),
            format!("--max-endpoints-per-slice={MAX_ENDPOINTS}"),
            "--leader-elect=true".to_owned(),
        ];
        let arguments: Vec<&str> = own
            .iter()
            .map(String::as_str)
            .chain(arguments.iter().copied())
            .collect();
        let process = ControllerProcess::start(&programs().await[0], &arguments)
            .await
            .unwrap();
        process.wait_ready().await.unwrap();
        Replica { proxy, process }
    }

    /// A leader that has published all pods, and a standby.
    async fn start_two(&self, arguments: &[&str]) -> (Replica, Replica) {
        let leader = self.start(arguments).await;
        leader.wait_leads(true).await;
        self.wait_published(1..=3).await;
        (leader, self.start(arguments).await)
    }

    /// Waits until exactly these pods are published, each once. Returns the time that it took.
    async fn wait_published(&self, pods: impl IntoIterator<Item = usize>) -> Duration {
        let started_at = Instant::now();
        let mut expected: Vec<String> = pods.into_iter().map(address).collect();
        expected.sort_unstable();
        let is_published = async || {
            let slices = slices_of(&self.client, &self.namespace, SERVICE).await.unwrap();
            ready_addresses(&slices).is_some_and(|addresses| addresses == expected)
        };
        until("publication of all pods", is_published).await.unwrap();
        started_at.elapsed()
    }

    async fn start_phase(&self, name: &str, window: Window) {
        self.recorder.wait_quiescent(IDLE).await.unwrap();
        self.recorder.mark(name, window).await.unwrap();
    }

    /// Waits until the cluster is quiescent and checks its history.
    async fn finish(self) {
        self.recorder.wait_quiescent(IDLE).await.unwrap();
        let history = self.recorder.history().unwrap();
        assert_clean(&history, &config(Tested::Services), env!("CARGO_TARGET_TMPDIR"));
    }
}

impl Replica {
    async fn wait_leads(&self, leads: bool) {
        let line = format!(
            "leader_election_master_status{{name=\"{LEASE}\"}} {}\n",
            u8::from(leads)
        );
        self.process.wait_for_page("/metrics", &line).await.unwrap();
    }

    fn writes(&self) -> usize {
        self.proxy.faults().count(&slice_writes())
    }
}

/// SIGTERM of the leader: the standby writes within two retry periods and 3 s.
#[tokio::test]
async fn a_stopped_leader_is_replaced_at_once() {
    let cluster = Cluster::new("failover-term").await;
    let (leader, standby) = cluster.start_two(&[]).await;
    cluster.start_phase("failover", Window::Any).await;
    let output = leader.process.stop().await.unwrap();
    assert!(output.contains("released the lease"), "{output}");
    cluster.add_pods([4]).await;
    let latency = cluster.wait_published(1..=4).await;
    println!("SIGTERM of the leader: published by the standby after {latency:.1?} (2 retry periods + 3 s = 7 s)");
    assert_eq!(standby.writes(), 1);
    standby.process.stop().await.unwrap();
    cluster.finish().await;
}

/// `kill -9` of the leader: the standby writes within the lease duration, three retry periods and 3 s.
#[tokio::test]
async fn a_killed_leader_is_replaced_after_the_lease_duration() {
    let cluster = Cluster::new("failover-kill").await;
    let (leader, standby) = cluster.start_two(&[]).await;
    cluster.start_phase("failover", Window::Any).await;
    leader.process.process.signal(Signal::KILL).unwrap();
    cluster.add_pods([4]).await;
    let latency = cluster.wait_published(1..=4).await;
    println!(
        "kill -9 of the leader: published by the standby after {latency:.1?} (15 s + 3 retry periods + 3 s = 24 s)"
    );
    assert_eq!(standby.writes(), 1);
    standby.process.stop().await.unwrap();
    cluster.finish().await;
}

/// A change of the leader alone causes no write (I6).
#[tokio::test]
async fn i6_a_change_of_the_leader_writes_nothing() {
    let cluster = Cluster::new("failover-idle").await;
    let (leader, standby) = cluster.start_two(&SHORT).await;
    cluster.start_phase("failover", Window::NoWrites).await;
    leader.process.stop().await.unwrap();
    standby.wait_leads(true).await;
    cluster.recorder.wait_quiescent(IDLE).await.unwrap();
    assert_eq!(standby.writes(), 0);
    standby.process.stop().await.unwrap();
    cluster.finish().await;
}

#[tokio::test]
async fn f18_a_frozen_leader_changes_nothing_when_it_continues() {
    let cluster = Cluster::new("f18").await;
    let (leader, standby) = cluster.start_two(&SHORT).await;
    cluster.start_phase("frozen", Window::Any).await;
    // It has a change to write when it continues.
    leader.process.process.signal(Signal::STOP).unwrap();
    cluster.add_pods([4, 5]).await;
    cluster.wait_published(1..=5).await;
    api(&cluster.client, &cluster.namespace, "Pod")
        .unwrap()
        .delete(
            &fixtures::pod_name(1),
            &kube::api::DeleteParams::default().grace_period(0),
        )
        .await
        .unwrap();
    cluster.wait_published(2..=5).await;
    cluster.start_phase("continued", Window::NoWrites).await;
    let before = leader.writes();
    leader.process.process.signal(Signal::CONT).unwrap();
    leader.wait_leads(false).await;
    cluster.recorder.wait_quiescent(IDLE).await.unwrap();
    assert_eq!(leader.writes() - before, 0);
    leader.process.stop().await.unwrap();
    standby.process.stop().await.unwrap();
    cluster.finish().await;
}

/// Requests about the lease are held, watches and writes are not.
#[tokio::test]
async fn f19_no_write_is_sent_after_the_renew_deadline() {
    let cluster = Cluster::new("f19").await;
    let leader = cluster.start(&SHORT).await;
    cluster.wait_published(1..=3).await;
    let leases = Match::default().resource("leases");
    let last_renewal = Instant::now();
    let held = leader.proxy.faults().add(Rule::when(leases).hold_request());
    // A change about every 100 ms, until the lease is lost.
    let mut pods = 4..;
    while leader
        .process
        .get("/metrics")
        .await
        .unwrap()
        .1
        .contains(&format!("{{name=\"{LEASE}\"}} 1\n"))
    {
        cluster.add_pods(pods.by_ref().take(1)).await;
    }
    let writes = leader.writes();
    cluster.add_pods(pods.by_ref().take(3)).await;
    let standby = cluster.start(&SHORT).await;
    let last = pods.next().unwrap();
    cluster.wait_published(1..last).await;
    assert_eq!(leader.writes(), writes, "a write after the lease was lost");
    let recorded = leader.proxy.faults().requests(&slice_writes());
    let after = recorded
        .iter()
        .map(|write| write.at.duration_since(last_renewal))
        .max()
        .unwrap_or_default();
    println!("F19: {writes} writes, the last one at most {after:.1?} after the last renewal (renew deadline 2 s)");
    assert!(after < Duration::from_secs(2));
    held.remove();
    leader.process.stop().await.unwrap();
    standby.process.stop().await.unwrap();
    cluster.finish().await;
}

/// The times in the record are of another clock, which may be wrong: what counts is how long the record stays unchanged.
#[tokio::test]
async fn f20_clocks_of_other_machines_do_not_count() {
    for (name, renew_time) in [
        ("past", "2001-01-01T00:00:00.000000Z"),
        ("future", "2101-01-01T00:00:00.000000Z"),
    ] {
        let cluster = Cluster::new(&format!("f20-{name}")).await;
        let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let record = json!({
            "metadata": {"name": LEASE, "namespace": cluster.namespace},
            "spec": {
                "holderIdentity": "another", "leaseDurationSeconds": 5, "leaseTransitions": 7,
                "acquireTime": renew_time, "renewTime": renew_time,
            },
        });
        create(&leases, record).await.unwrap();
        let started_at = Instant::now();
        let replica = cluster.start(&SHORT).await;
        cluster.wait_published(1..=3).await;
        let waited = started_at.elapsed();
        println!("F20: took over a lease of 5 s from the {name} after {waited:.1?}");
        assert!(waited >= Duration::from_secs(5), "{waited:?}");
        let spec = leases.get(LEASE).await.unwrap().spec.unwrap();
        assert_eq!(spec.lease_transitions, Some(8));
        replica.process.stop().await.unwrap();
        cluster.finish().await;
    }
}

/// kube-controller-manager with the same Lease and ours never both lead.
#[tokio::test]
async fn the_lease_is_that_of_client_go() {
    let cluster = Cluster::new("client-go").await;
    let lease = format!("--leader-elect-resource-namespace={}", cluster.namespace);
    let name = format!("--leader-elect-resource-name={LEASE}");
    let arguments = [&*lease, &*name, "--leader-elect=true", SHORT[0], SHORT[1], SHORT[2]];
    let collector = ["garbage-collector-controller"];
    let manager = cluster
        .environment
        .control_plane
        .controller_manager(&collector, &arguments)
        .await
        .unwrap();
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let holder = async || {
        leases
            .get_opt(LEASE)
            .await
            .unwrap()
            .and_then(|lease| lease.spec?.holder_identity)
    };
    until("kube-controller-manager leads", async || holder().await.is_some())
        .await
        .unwrap();
    let theirs = holder().await;

    let ours = cluster.start(&SHORT).await;
    ours.process
        .process
        .wait_for_output("another instance leads")
        .await
        .unwrap();
    // Longer than the lease duration: it renews the lease in a way that we see.
    cluster.recorder.wait_quiescent(Duration::from_secs(5)).await.unwrap();
    assert_eq!((ours.writes(), holder().await), (0, theirs.clone()));

    manager.stop().await.unwrap();
    cluster.wait_published(1..=3).await;
    assert_ne!(holder().await, theirs);
    // It waits in its turn.
    manager.start().await.unwrap();
    cluster.recorder.wait_quiescent(Duration::from_secs(5)).await.unwrap();
    ours.wait_leads(true).await;
    ours.process.stop().await.unwrap();
    until("kube-controller-manager leads again", async || {
        holder().await.is_some_and(|holder| !holder.is_empty())
    })
    .await
    .unwrap();
    manager.stop().await.unwrap();
}
