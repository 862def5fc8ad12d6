//! The runner: connects reflectors, engine, writers and event recorder.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Controller, Decoded, ObjectRef, WatchSpec};
use slice_core::well_known::MANAGED_BY_LABEL;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{
    api::SliceApi,
    client::{ApiClient, Connections, Purpose, RateLimit},
    engine::{DebugState, Engine, EngineConfig, UNCONFIRMED_REMOVALS},
    event_channel::{EventReceiver, EventSender, event_channel},
    events::Events,
    health::Health,
    leader_election::{Candidacy, LeaderElection, Leadership, LeaseClock},
    metrics::Metrics,
    watch::{ConfirmationRequest, Reflector, WatchEvent, WatchTimeouts},
    writers::{WriteReport, WriterPool},
};

/// Maximum number of keys to sync before watch events are handled again.
const MAX_KEYS_PER_TURN: usize = 64;
/// The default of `--concurrent-service-endpoint-syncs`.
const DEFAULT_CONCURRENCY: NonZeroUsize = NonZeroUsize::new(5).expect("5 is not 0");
/// The timeout of a request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// The time for writes in flight at shutdown.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
/// The time for writers to end after the lease was lost.
pub(crate) const LOSS_GRACE: Duration = Duration::from_secs(5);
/// The interval of gauge updates and sweeps of the interner.
const METRICS_INTERVAL: Duration = Duration::from_secs(1);

/// Options of [`run`].
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Value of the managed-by label on our slices. It must be unique: run one instance per value.
    pub managed_by: String,
    /// The source component of recorded events.
    pub event_source: &'static str,
    /// The namespace to watch; all namespaces if empty.
    pub namespace: String,
    /// Maximum number of keys with writes in flight.
    pub concurrency: NonZeroUsize,
    /// The delay before a key is synced after another writer changed one of its slices.
    pub foreign_change_delay: Duration,
    /// The resync period: how often every key is synced without an event; zero disables resyncs.
    pub resync_period: Duration,
    /// The limit of requests to the API server; none means unlimited.
    pub rate_limit: Option<RateLimit>,
    /// Whether writes and events are logged instead of sent.
    pub dry_run: bool,
    /// Leader election among several instances; none if there is one instance per value of `managed_by`. Ignored in a dry run.
    pub leader_election: Option<LeaderElection>,
}

impl RunOptions {
    /// Options for all namespaces, without leader election, with the defaults of kube-controller-manager where it has them.
    #[must_use]
    pub fn new(managed_by: &str, event_source: &'static str) -> Self {
        Self {
            managed_by: managed_by.to_owned(),
            event_source,
            namespace: String::new(),
            concurrency: DEFAULT_CONCURRENCY,
            foreign_change_delay: Duration::from_secs(1),
            resync_period: Duration::from_secs(12 * 60 * 60),
            rate_limit: None,
            dry_run: false,
            leader_election: None,
        }
    }
}

/// Why [`run`] ended before it was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A writer did not end in time after the lease was lost. The process must exit, so that it does not write beside the leader.
    #[error("the lease was lost, and EndpointSlice writes did not end within {} s", LOSS_GRACE.as_secs())]
    WritesAfterLoss,
}

/// A request for the state of the engine.
pub(crate) type DebugRequest = oneshot::Sender<DebugState>;

/// Runs a controller until `stop` is ready, then waits for writes in flight, and releases the lease of leader election.
/// `connections` may be a [`kube::Client`]; see [`Connections`] for what that lacks.
///
/// # Panics
/// If a reflector, the event recorder or the candidate of leader election panics: without it, the controller would act on stale
/// objects, or lead never again.
pub async fn run<C>(
    controller: C,
    connections: impl Into<Connections>,
    options: RunOptions,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    stop: impl Future<Output = ()>,
) -> Result<(), RunError>
where
    C: Controller + Send,
{
    let (_, no_requests) = mpsc::channel(1);
    // Boxed: callers hold this future, which contains all state of the runner.
    Box::pin(run_with_debug(
        controller,
        connections.into(),
        options,
        health,
        metrics,
        no_requests,
        LeaseClock::system(),
        stop,
    ))
    .await
}

/// As [`run`], and answers requests for the state of the engine.
#[expect(
    clippy::too_many_arguments,
    reason = "those of `run`, and two that only its callers here have"
)]
pub(crate) async fn run_with_debug<C>(
    controller: C,
    connections: Connections,
    options: RunOptions,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    debug_requests: mpsc::Receiver<DebugRequest>,
    clock: LeaseClock,
    stop: impl Future<Output = ()>,
) -> Result<(), RunError>
where
    C: Controller + Send,
{
    let election = options.leader_election.clone().filter(|_| !options.dry_run);
    // Dropping the set aborts all tasks.
    let mut tasks = JoinSet::new();
    let candidacy = election.map(|config| {
        let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
        let (candidacy, candidate) = Candidacy::new(connections.clone(), config, clock, metrics, health);
        tasks.spawn(candidate);
        candidacy
    });
    let leadership = candidacy.as_ref().map(|candidacy| candidacy.leadership.clone());
    let api = ApiClient::new(connections, REQUEST_TIMEOUT, options.rate_limit).with_metrics(Arc::clone(&metrics));
    let write_api = api.with_purpose(Purpose::Write).for_leader(leadership.clone());
    let events = Arc::new(if options.dry_run {
        Events::dry_run(Arc::clone(&metrics))
    } else {
        let (events, recorder) = Events::new(write_api.clone(), options.event_source, Arc::clone(&metrics));
        tasks.spawn(recorder);
        events
    });
    let reflectors = Reflectors {
        api: &api,
        options: &options,
        health: &health,
        metrics: &metrics,
        events: &events,
        leadership: leadership.as_ref(),
    };
    let (sender, slices) = event_channel();
    // Deletions of our own slices need no confirmation: they are written again.
    let no_confirmations = mpsc::channel(1).1;
    tasks.spawn(reflectors.task(0, slices_watch(&options.managed_by), sender, no_confirmations));
    let (sender, inputs) = event_channel();
    let watches = controller.watches();
    let ids = watches.iter().map(|spec| spec.id).collect();
    let mut confirmations = Vec::new();
    for (index, spec) in watches.into_iter().enumerate() {
        let (requests, receiver) = mpsc::channel(1);
        confirmations.push(requests);
        tasks.spawn(reflectors.task(index, spec, sender.clone(), receiver));
    }
    let config = EngineConfig {
        managed_by: options.managed_by.clone(),
        concurrency: options.concurrency,
        foreign_change_delay: options.foreign_change_delay,
        unconfirmed_removals: UNCONFIRMED_REMOVALS,
        dry_run: options.dry_run,
        random: fastrand::Rng::new(),
    };
    let runner = Runner {
        engine: Engine::new(controller, ids, config, metrics),
        writers: WriterPool::new(SliceApi { client: write_api }),
        events,
        confirmations,
        resync_period: options.resync_period,
        candidacy,
        health,
    };
    // On the heap: the engine is large, and callers hold this future.
    tokio::select! {
        result = Box::pin(runner.run(inputs, slices, debug_requests, stop)) => result,
        Some(Err(error)) = tasks.join_next() => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The watch of our own slices.
pub(crate) fn slices_watch(managed_by: &str) -> WatchSpec<(), EndpointSlice> {
    WatchSpec::with_decoder((), "discovery.k8s.io/v1", "endpointslices", |bytes| {
        let object: EndpointSlice = serde_json::from_slice(bytes)?;
        let object_ref = ObjectRef::from(&object.metadata);
        Ok(Decoded { object_ref, object })
    })
    .labels(format!("{MANAGED_BY_LABEL}={managed_by}"))
}

/// A watch event with the index of its watch among those of the controller.
type IndexedEvent<O> = (usize, WatchEvent<O>);

/// What all reflectors of a controller have in common.
struct Reflectors<'a> {
    api: &'a ApiClient,
    options: &'a RunOptions,
    health: &'a Health,
    metrics: &'a Arc<Metrics>,
    events: &'a Arc<Events>,
    leadership: Option<&'a Leadership>,
}

impl Reflectors<'_> {
    /// The task of a reflector.
    fn task<W: Send + 'static, O: Send + 'static>(
        &self,
        index: usize,
        spec: WatchSpec<W, O>,
        sender: EventSender<IndexedEvent<O>>,
        confirmations: mpsc::Receiver<ConfirmationRequest>,
    ) -> impl Future<Output = ()> + use<W, O> {
        let reflector = Reflector {
            api: self.api.with_purpose(Purpose::Watch),
            confirmation_api: self.api.with_purpose(Purpose::Confirm),
            health: self.health.add(spec.name),
            metrics: Arc::clone(self.metrics),
            events: Arc::clone(self.events),
            spec,
            namespace: self.options.namespace.clone(),
            timeouts: WatchTimeouts::short(),
            sender,
            index,
            leadership: self.leadership.cloned(),
        };
        let leadership = self.leadership.cloned();
        async move {
            if let Some(leadership) = leadership {
                leadership.decided().await;
            }
            reflector.run(confirmations).await;
        }
    }
}

/// The main loop: passes watch events and write reports to the engine, and its jobs and events to writers and recorder.
struct Runner<C: Controller> {
    engine: Engine<C>,
    writers: WriterPool,
    events: Arc<Events>,
    /// The channels to the reflectors of the controller's watches, in their order.
    confirmations: Vec<mpsc::Sender<ConfirmationRequest>>,
    resync_period: Duration,
    candidacy: Option<Candidacy>,
    health: Arc<Health>,
}

impl<C: Controller> Runner<C> {
    async fn run(
        mut self,
        mut inputs: EventReceiver<IndexedEvent<C::Object>>,
        mut slices: EventReceiver<IndexedEvent<EndpointSlice>>,
        mut debug_requests: mpsc::Receiver<DebugRequest>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), RunError> {
        tokio::pin!(stop);
        let mut resync = (!self.resync_period.is_zero()).then(|| interval(self.resync_period));
        let mut gauges = interval(METRICS_INTERVAL);
        if self.candidacy.is_some() {
            self.engine.set_term(None, now());
        }
        loop {
            self.health.record_turn();
            self.follow_term().await?;
            let has_more = self.process_due();
            let deadline = self.engine.next_deadline(now()).map(Instant::from_std);
            tokio::select! {
                () = &mut stop => break,
                Some((watch, event)) = inputs.recv() => {
                    self.engine.handle_event(watch, event, now());
                    while let Some((watch, event)) = inputs.try_recv() {
                        self.engine.handle_event(watch, event, now());
                    }
                }
                Some((_, event)) = slices.recv() => self.engine.handle_slice_event(event, now()),
                report = self.writers.next_report() => self.handle_report(report),
                () = sleep_until_some(deadline) => {}
                () = term_changed(self.candidacy.as_ref(), self.engine.term()) => {}
                // Go on with the next turn, after watch events that have arrived.
                () = std::future::ready(()), if has_more => tokio::task::yield_now().await,
                () = next_tick(resync.as_mut()) => self.engine.resync_all(now()),
                // The receiver is dropped if the request timed out.
                Some(request) = debug_requests.recv() => drop(request.send(self.engine.debug_state(now()))),
                _ = gauges.tick() => {
                    self.engine.update_gauges(now());
                    self.engine.sweep_interner();
                }
            }
        }
        self.drain().await;
        Ok(())
    }

    /// Records an event on the Lease, as client-go does.
    fn record_election(&self, change: &str) {
        if let Some(candidacy) = &self.candidacy {
            self.events.record(vec![candidacy.event(change)]);
        }
    }

    /// Starts or ends the term of the engine. A term ends when all of its writers have: the lease is not acquired before.
    async fn follow_term(&mut self) -> Result<(), RunError> {
        let Some(candidacy) = &self.candidacy else {
            return Ok(());
        };
        let ended = match (self.engine.term(), candidacy.leadership.term_or_last()) {
            (None, Ok(term)) => {
                self.engine.set_term(Some(term), now());
                self.record_election("became leader");
                return Ok(());
            }
            // Also of a term that ended before it was seen here.
            (None, Err(last)) => {
                candidacy.end_term(last);
                return Ok(());
            }
            (Some(before), Ok(term)) if before == term => return Ok(()),
            (Some(before), _) => before,
        };
        self.engine.set_term(None, now());
        if !self.wait_for_writers(LOSS_GRACE).await {
            return Err(RunError::WritesAfterLoss);
        }
        if let Some(candidacy) = &self.candidacy {
            candidacy.end_term(ended);
        }
        Ok(())
    }

    /// Syncs due keys, starts writers and records events. Returns whether more keys are due.
    fn process_due(&mut self) -> bool {
        let batch = self.engine.process_due(MAX_KEYS_PER_TURN, now(), Timestamp::now());
        for job in batch.jobs {
            self.writers.spawn(job);
        }
        self.events.hold_until(self.engine.gate_closed_until(now()));
        self.events.record(batch.events);
        for (watch, request) in self.engine.take_confirmations() {
            // If the channel is full, the reflector already has a request.
            drop(self.confirmations[watch].try_send(request));
        }
        batch.has_more
    }

    fn handle_report(&mut self, report: WriteReport) {
        match report {
            WriteReport::Result { key, write, result } => self.engine.on_write_result(&key, write, result, now()),
            WriteReport::Done(key) => {
                let events = self.engine.on_writes_done(&key, now());
                self.events.record(events);
            }
        }
    }

    /// Shutdown: no sync starts, and writes in flight get some time to end. All other keys are left to the next start: caches no
    /// longer follow the cluster, so that plans from now on would be based on old objects. The lease is released when no write
    /// is in flight.
    async fn drain(mut self) {
        if self.engine.term().is_some() {
            self.record_election("stopped leading");
        }
        let ended = self.wait_for_writers(SHUTDOWN_GRACE).await;
        if !ended {
            tracing::warn!(
                grace = ?SHUTDOWN_GRACE,
                "shutting down with EndpointSlice writes in flight: no response in time; the next start repairs the slices"
            );
        }
        if let Some(candidacy) = self.candidacy.filter(|_| ended) {
            candidacy.release().await;
        }
    }

    /// Waits until no write is in flight. Returns false if that takes longer than `grace`.
    async fn wait_for_writers(&mut self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        while !self.engine.is_idle() {
            tokio::select! {
                // First, so that many reports do not extend the time.
                biased;
                () = sleep_until(deadline) => return false,
                report = self.writers.next_report() => self.handle_report(report),
            }
        }
        true
    }
}

/// Waits until this instance becomes the leader, or does not lead any more.
async fn term_changed(candidacy: Option<&Candidacy>, term: Option<u64>) {
    match candidacy {
        Some(candidacy) => candidacy.leadership.changed(term).await,
        None => std::future::pending().await,
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    interval
}

async fn next_tick(interval: Option<&mut tokio::time::Interval>) {
    match interval {
        Some(interval) => drop(interval.tick().await),
        None => std::future::pending().await,
    }
}

async fn sleep_until_some(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
