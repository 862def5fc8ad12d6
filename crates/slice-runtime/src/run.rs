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
    engine::{DebugState, Engine, EngineConfig},
    event_channel::{EventReceiver, EventSender, event_channel},
    events::Events,
    health::Health,
    metrics::Metrics,
    watch::{ConfirmationRequest, Reflector, WatchEvent, WatchTimeouts},
    writers::{WriteReport, WriterPool},
};

/// Maximum number of keys to sync before watch events are handled again.
const MAX_KEYS_PER_TURN: usize = 64;
/// The timeout of a request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// The time for writes in flight at shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
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
}

/// A request for the state of the engine.
pub(crate) type DebugRequest = oneshot::Sender<DebugState>;

/// Runs a controller until `stop` is ready, then waits for writes in flight. `connections` may be a [`kube::Client`]; see
/// [`Connections`] for what that lacks.
///
/// # Panics
/// If a reflector or the event recorder panics: without it, the controller would act on stale objects.
pub async fn run<C>(
    controller: C,
    connections: impl Into<Connections>,
    options: RunOptions,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    stop: impl Future<Output = ()>,
) where
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
        stop,
    ))
    .await;
}

/// As [`run`], and answers requests for the state of the engine.
pub(crate) async fn run_with_debug<C>(
    controller: C,
    connections: Connections,
    options: RunOptions,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    debug_requests: mpsc::Receiver<DebugRequest>,
    stop: impl Future<Output = ()>,
) where
    C: Controller + Send,
{
    let api = ApiClient::new(connections, REQUEST_TIMEOUT, options.rate_limit).with_metrics(Arc::clone(&metrics));
    let write_api = api.with_purpose(Purpose::Write);
    // Dropping the set aborts all tasks.
    let mut tasks = JoinSet::new();
    let (sender, slices) = event_channel();
    tasks.spawn(reflect(
        0,
        slices_watch(&options.managed_by),
        &api,
        &options,
        &health,
        &metrics,
        sender,
        // Deletions of our own slices need no confirmation: they are written again.
        mpsc::channel(1).1,
    ));
    let (sender, inputs) = event_channel();
    let watches = controller.watches();
    let ids = watches.iter().map(|spec| spec.id).collect();
    let mut confirmations = Vec::new();
    for (index, spec) in watches.into_iter().enumerate() {
        let (requests, receiver) = mpsc::channel(1);
        confirmations.push(requests);
        let sender = sender.clone();
        tasks.spawn(reflect(
            index, spec, &api, &options, &health, &metrics, sender, receiver,
        ));
    }
    let config = EngineConfig {
        managed_by: options.managed_by.clone(),
        concurrency: options.concurrency,
        foreign_change_delay: options.foreign_change_delay,
        dry_run: options.dry_run,
        random: fastrand::Rng::new(),
    };
    let events = if options.dry_run {
        Events::dry_run(Arc::clone(&metrics))
    } else {
        let (events, recorder) = Events::new(write_api.clone(), options.event_source, Arc::clone(&metrics));
        tasks.spawn(recorder);
        events
    };
    let runner = Runner {
        engine: Engine::new(controller, ids, config, metrics),
        writers: WriterPool::new(SliceApi { client: write_api }),
        events,
        confirmations,
        resync_period: options.resync_period,
        health,
    };
    // On the heap: the engine is large, and callers hold this future.
    tokio::select! {
        () = Box::pin(runner.run(inputs, slices, debug_requests, stop)) => {}
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

/// The task of a reflector.
#[expect(clippy::too_many_arguments, reason = "they are the fields of a reflector")]
fn reflect<W: Send + 'static, O: Send + 'static>(
    index: usize,
    spec: WatchSpec<W, O>,
    api: &ApiClient,
    options: &RunOptions,
    health: &Health,
    metrics: &Arc<Metrics>,
    sender: EventSender<IndexedEvent<O>>,
    confirmations: mpsc::Receiver<ConfirmationRequest>,
) -> impl Future<Output = ()> + use<W, O> {
    let reflector = Reflector {
        api: api.with_purpose(Purpose::Watch),
        confirmation_api: api.with_purpose(Purpose::Confirm),
        health: health.add(spec.name),
        metrics: Arc::clone(metrics),
        spec,
        namespace: options.namespace.clone(),
        timeouts: WatchTimeouts::short(),
        sender,
        index,
    };
    reflector.run(confirmations)
}

/// The main loop: passes watch events and write reports to the engine, and its jobs and events to writers and recorder.
struct Runner<C: Controller> {
    engine: Engine<C>,
    writers: WriterPool,
    events: Events,
    /// The channels to the reflectors of the controller's watches, in their order.
    confirmations: Vec<mpsc::Sender<ConfirmationRequest>>,
    resync_period: Duration,
    health: Arc<Health>,
}

impl<C: Controller> Runner<C> {
    async fn run(
        mut self,
        mut inputs: EventReceiver<IndexedEvent<C::Object>>,
        mut slices: EventReceiver<IndexedEvent<EndpointSlice>>,
        mut debug_requests: mpsc::Receiver<DebugRequest>,
        stop: impl Future<Output = ()>,
    ) {
        tokio::pin!(stop);
        let mut resync = (!self.resync_period.is_zero()).then(|| interval(self.resync_period));
        let mut gauges = interval(METRICS_INTERVAL);
        loop {
            self.health.record_turn();
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
    /// longer follow the cluster, so that plans from now on would be based on old objects.
    async fn drain(mut self) {
        let deadline = Instant::now() + SHUTDOWN_GRACE;
        while !self.engine.is_idle() {
            tokio::select! {
                // First, so that many reports do not extend the time.
                biased;
                () = sleep_until(deadline) => {
                    tracing::warn!(
                        grace = ?SHUTDOWN_GRACE,
                        "shutting down with EndpointSlice writes in flight: no response in time; the next start repairs the slices"
                    );
                    return;
                }
                report = self.writers.next_report() => self.handle_report(report),
            }
        }
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
