//! Tasks, sockets and clocks around the engine.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Controller, Decoded, ObjectRef, WatchSpec};
use slice_core::well_known::MANAGED_BY_LABEL;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{
    api::SliceApi,
    client::{ApiClient, RateLimit},
    engine::{Engine, EngineConfig},
    events::Events,
    health::Health,
    metrics::Metrics,
    watch::{Reflector, Times, WatchEvent},
    writers::{Progress, Writers},
};

/// News that wait to be heard, per channel. When it is full the watches wait, and the server with them.
const NEWS: usize = 1024;
/// Keys that are synced before watch events are handled again.
const KEYS_AT_ONCE: usize = 64;
/// How long one call may take.
pub(crate) const CALL: Duration = Duration::from_secs(15);
/// How long writes under way may take when the program ends.
const GRACE: Duration = Duration::from_secs(10);
/// How often what can only be told by looking is measured.
const MEASURE: Duration = Duration::from_secs(1);

/// What runs a controller.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Value of the managed-by label on our slices, and so the lock: one writer per value.
    pub managed_by: String,
    /// The component that events come from.
    pub event_source: &'static str,
    /// The only namespace that is watched; all, if empty.
    pub namespace: String,
    /// Keys with writes under way at the same time.
    pub concurrency: NonZeroUsize,
    /// The delay after another writer changed a slice.
    pub foreign_change_delay: Duration,
    /// The resync period: how often every key is synced even if nothing changes; never, if zero.
    pub resync_period: Duration,
    /// How many requests are sent; all that there are, if nothing is said.
    pub rate_limit: Option<RateLimit>,
    /// Whether plans and events are logged instead of written.
    pub dry_run: bool,
}

/// Runs a controller until `stop` is ready; then writes under way are finished.
///
/// # Panics
/// When a task that should never end does, because it panicked: to go on half blind would be worse.
pub async fn run<C>(
    controller: C,
    client: kube::Client,
    options: RunOptions,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    stop: impl Future<Output = ()>,
) where
    C: Controller + Send,
{
    let api = ApiClient::new(client, CALL, options.rate_limit);
    // Everything that was started ends with this set.
    let mut tasks = JoinSet::new();
    let (out, slices) = mpsc::channel(NEWS);
    tasks.spawn(reflect(
        0,
        slices_watch(&options.managed_by),
        &api,
        &options,
        &health,
        &metrics,
        out,
    ));
    let (out, inputs) = mpsc::channel(NEWS);
    let watches = controller.watches();
    let ids = watches.iter().map(|spec| spec.id).collect();
    for (index, spec) in watches.into_iter().enumerate() {
        tasks.spawn(reflect(index, spec, &api, &options, &health, &metrics, out.clone()));
    }
    let config = EngineConfig {
        managed_by: options.managed_by.clone(),
        concurrency: options.concurrency,
        foreign_change_delay: options.foreign_change_delay,
        dry_run: options.dry_run,
    };
    let events = if options.dry_run {
        Events::logged(Arc::clone(&metrics))
    } else {
        let (events, recording) = Events::new(api.clone(), options.event_source, Arc::clone(&metrics));
        tasks.spawn(recording);
        events
    };
    let runner = Runner {
        engine: Engine::new(controller, ids, config, metrics),
        writers: Writers::new(SliceApi { client: api }),
        events,
        resync_period: options.resync_period,
    };
    tokio::select! {
        () = runner.run(inputs, slices, stop) => {}
        Some(Err(died)) = tasks.join_next() => std::panic::resume_unwind(died.into_panic()),
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

/// An event of a watch, and the place of the watch among those of the controller.
type Indexed<O> = (usize, WatchEvent<O>);

fn reflect<W: Send + 'static, O: Send + 'static>(
    index: usize,
    spec: WatchSpec<W, O>,
    api: &ApiClient,
    options: &RunOptions,
    health: &Health,
    metrics: &Arc<Metrics>,
    out: mpsc::Sender<Indexed<O>>,
) -> impl Future<Output = ()> + use<W, O> {
    let reflector = Reflector {
        api: api.clone(),
        health: health.add(spec.name),
        metrics: Arc::clone(metrics),
        spec,
        namespace: options.namespace.clone(),
        times: Times::default(),
        out,
        index,
    };
    reflector.run()
}

/// Brings the engine, the reflectors and the writers together.
struct Runner<C: Controller> {
    engine: Engine<C>,
    writers: Writers,
    events: Events,
    resync_period: Duration,
}

impl<C: Controller> Runner<C> {
    async fn run(
        mut self,
        mut inputs: mpsc::Receiver<Indexed<C::Object>>,
        mut slices: mpsc::Receiver<Indexed<EndpointSlice>>,
        stop: impl Future<Output = ()>,
    ) {
        tokio::pin!(stop);
        let mut resync = (!self.resync_period.is_zero()).then(|| interval(self.resync_period));
        let mut measure = interval(MEASURE);
        loop {
            let more = self.work();
            let deadline = self.engine.next_deadline().map(Instant::from_std);
            tokio::select! {
                () = &mut stop => break,
                Some((watch, event)) = inputs.recv() => {
                    self.engine.handle_event(watch, event, now());
                    while let Ok((watch, event)) = inputs.try_recv() {
                        self.engine.handle_event(watch, event, now());
                    }
                }
                Some((_, event)) = slices.recv() => self.engine.handle_slice_event(event, now()),
                ended = self.writers.next() => self.take_in(ended),
                () = until(deadline) => {}
                // Watch events are handled in between.
                () = std::future::ready(()), if more => tokio::task::yield_now().await,
                () = tick(resync.as_mut()) => self.engine.resync_all(now()),
                _ = measure.tick() => self.engine.update_gauges(now()),
            }
        }
        self.finish().await;
    }

    /// Answers whether there is more to do at once.
    fn work(&mut self) -> bool {
        let batch = self.engine.process_due(KEYS_AT_ONCE, now(), Timestamp::now());
        for job in batch.jobs {
            self.writers.start(job);
        }
        self.events.record(batch.events);
        batch.has_more
    }

    fn take_in(&mut self, progress: Progress) {
        match progress {
            Progress::Answered { key, write, answer } => self.engine.on_write_result(&key, write, answer),
            Progress::Finished(key) => {
                let events = self.engine.on_writes_done(&key, now());
                self.events.record(events);
            }
        }
    }

    /// Looks at what is due and lets writes come to their end; what waits for its time is left to the next start (R41).
    async fn finish(mut self) {
        let end = Instant::now() + GRACE;
        loop {
            if self.work() {
                continue;
            }
            if self.engine.is_idle() {
                return;
            }
            let Ok(progress) = tokio::time::timeout_at(end, self.writers.next()).await else {
                tracing::warn!("the program ends although writes are under way: they were not answered in time");
                return;
            };
            self.take_in(progress);
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

async fn tick(interval: Option<&mut tokio::time::Interval>) {
    match interval {
        Some(interval) => drop(interval.tick().await),
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
