//! The control plane, the replicas, and the client that changes objects.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, Result};
use churn::{Action, Generator, Operator};
use futures::future::try_join_all;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use slice_oracle::Recorder;
use testenv::{ApiserverReplica, Component, ControlPlane};
use tokio::{
    sync::RwLock,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use crate::{damage::ReplicaId, replica::Replica, report::UncertainEdit};

/// The namespace of all changes.
pub(crate) const NAMESPACE: &str = "soak";
/// At most one step of changes in this time.
const PACE: Duration = Duration::from_millis(60);
/// A change that takes longer is tried again.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// A change that no attempt executes in this time ends the run.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(120);
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A control plane with two replicas of each program.
pub(crate) struct Cluster<'a> {
    pub(crate) control_plane: &'a ControlPlane,
    /// A second API server, for changes and the record of them, which is never damaged itself: changes go on while that of the
    /// controllers is not available. Without a watch cache, so that the record continues after an interruption of etcd.
    pub(crate) observer: ApiserverReplica,
    /// A client of the observer.
    pub(crate) client: Client,
    pub(crate) replicas: Vec<Replica<'a>>,
    /// Locked for writing while etcd is interrupted, and for reading while a slice is edited.
    pub(crate) etcd_available: RwLock<()>,
    /// Collects the slices of deleted Services.
    _garbage_collector: Component,
}

impl<'a> Cluster<'a> {
    pub(crate) async fn start(control_plane: &'a ControlPlane, programs: &'a [PathBuf]) -> Result<Self> {
        let observer = control_plane.start_replica_with(&["--watch-cache=false"]).await?;
        let client = control_plane.client_at(control_plane.admin(), observer.url())?;
        let kubeconfig = control_plane.kubeconfig_at(control_plane.admin(), observer.url())?;
        let kubeconfig = kubeconfig.path.display();
        let arguments = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
        let arguments = arguments.map(|flag| format!("--{flag}={kubeconfig}"));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let garbage_collector = control_plane
            .controller_manager(&["garbage-collector-controller"], &arguments)
            .await?;
        churn::prepare(&client, NAMESPACE).await?;
        let replicas = ReplicaId::ALL.map(|id| Replica::start(control_plane, programs, id));
        Ok(Self {
            control_plane,
            observer,
            client,
            replicas: try_join_all(replicas).await?,
            etcd_available: RwLock::new(()),
            _garbage_collector: garbage_collector,
        })
    }

    pub(crate) fn replica(&self, id: ReplicaId) -> &Replica<'a> {
        let found = self.replicas.iter().find(|replica| replica.id == id);
        found.expect("every replica was started")
    }
}

/// Changes objects at random.
pub(crate) struct Changes<'a> {
    pub(crate) cluster: &'a Cluster<'a>,
    pub(crate) recorder: &'a Recorder,
    pub(crate) steps: Cell<usize>,
    pub(crate) uncertain: RefCell<Vec<UncertainEdit>>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(cluster: &'a Cluster<'a>, recorder: &'a Recorder) -> Self {
        Self {
            cluster,
            recorder,
            steps: Cell::new(0),
            uncertain: RefCell::default(),
        }
    }

    /// Executes steps until the end of the damage.
    pub(crate) async fn run(&self, generator: &mut Generator, is_over: &Cell<bool>) -> Result<()> {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !is_over.get() {
            pace.tick().await;
            for action in generator.next_step() {
                match &action {
                    Action::Slice { service, .. } => self.edit(service, &action).await,
                    _ => self.repeat(&action).await?,
                }
            }
            self.steps.set(self.steps.get() + 1);
        }
        Ok(())
    }

    /// Removes the finalizers of all slices.
    pub(crate) async fn release_all(&self) -> Result<()> {
        let operator = self.operator();
        repeat(async || operator.release_all().await).await
    }

    async fn repeat(&self, action: &Action) -> Result<()> {
        let operator = self.operator();
        let executed = repeat(async || operator.execute(action).await).await;
        executed.with_context(|| format!("cannot execute {action:?}"))
    }

    /// Edits a slice once, if etcd is not interrupted.
    async fn edit(&self, service: &str, action: &Action) {
        let Ok(_available) = self.cluster.etcd_available.try_read() else {
            return;
        };
        let since = Timestamp::now();
        let edited = timeout(ATTEMPT_TIMEOUT, self.operator().execute(action)).await;
        if !matches!(edited, Ok(Ok(()))) {
            self.uncertain.borrow_mut().push(UncertainEdit {
                service: service.to_owned(),
                since,
            });
        }
    }

    fn operator(&self) -> Operator<'_> {
        Operator {
            client: self.cluster.client.clone(),
            namespace: NAMESPACE,
            recorder: self.recorder,
            repeats: true,
        }
    }
}

/// Repeats a change until it succeeds.
async fn repeat(change: impl AsyncFn() -> Result<(), testenv::Error>) -> Result<()> {
    let deadline = Instant::now() + CHANGE_TIMEOUT;
    loop {
        let error = match timeout(ATTEMPT_TIMEOUT, change()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => anyhow::Error::new(error),
            Err(elapsed) => anyhow::Error::new(elapsed),
        };
        if Instant::now() > deadline {
            return Err(error);
        }
        sleep(RETRY_DELAY).await;
    }
}
