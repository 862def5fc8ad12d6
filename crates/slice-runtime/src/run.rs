//! Tasks, sockets and clocks around the owner.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Controller, Identity, Seen, Source};
use slice_core::names::MANAGED_BY_LABEL;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{
    api::SliceApi,
    client::{ApiClient, RateLimit},
    events::Events,
    health::Health,
    metrics::Metrics,
    owner::{Owner, SLICES, Settings},
    watch::{News, Times, Watch},
    writers::{Progress, Writers},
};

/// News that wait to be heard, per channel. When it is full the watches wait, and the server with them.
const NEWS: usize = 1024;
/// Keys that are looked at before news are heard again.
const KEYS_AT_ONCE: usize = 64;
/// How long one call may take.
pub(crate) const CALL: Duration = Duration::from_secs(15);
/// How long writes under way may take when the program ends.
const GRACE: Duration = Duration::from_secs(10);
/// How often what can only be told by looking is measured.
const MEASURE: Duration = Duration::from_secs(1);

/// What runs a controller.
#[derive(Clone, Debug)]
pub struct Options {
    /// Value of the managed-by label on our slices, and so the lock: one writer per value.
    pub managed_by: String,
    /// The component that events come from.
    pub event_source: &'static str,
    /// The only namespace that is looked at; all, if empty.
    pub namespace: String,
    /// Keys with writes under way at the same time.
    pub concurrency: NonZeroUsize,
    /// How long to wait after somebody else changed a slice.
    pub slice_delay: Duration,
    /// How often every key is looked at, even if nothing happens; never, if zero.
    pub resync: Duration,
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
    options: Options,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    stop: impl Future<Output = ()>,
) where
    C: Controller + Send,
    C::Input: Send + 'static,
{
    let api = ApiClient::new(client, CALL, options.rate_limit);
    // Everything that was started ends with this set.
    let mut tasks = JoinSet::new();
    let (out, slices) = mpsc::channel(NEWS);
    tasks.spawn(watch(
        slices_source(&options.managed_by),
        &api,
        &options,
        &health,
        &metrics,
        out,
    ));
    let (out, inputs) = mpsc::channel(NEWS);
    for source in controller.sources() {
        tasks.spawn(watch(source, &api, &options, &health, &metrics, out.clone()));
    }
    let settings = Settings {
        managed_by: options.managed_by.clone(),
        concurrency: options.concurrency,
        slice_delay: options.slice_delay,
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
        owner: Owner::new(controller, settings, metrics),
        writers: Writers::new(SliceApi { client: api }),
        events,
        resync: options.resync,
    };
    tokio::select! {
        () = runner.run(inputs, slices, stop) => {}
        Some(Err(died)) = tasks.join_next() => std::panic::resume_unwind(died.into_panic()),
    }
}

pub(crate) fn slices_source(managed_by: &str) -> Source<EndpointSlice> {
    Source {
        kind: SLICES,
        api: "apis/discovery.k8s.io/v1",
        resource: "endpointslices",
        namespaced: true,
        label_selector: format!("{MANAGED_BY_LABEL}={managed_by}"),
        metadata_only: false,
        decode: |bytes| {
            let object: EndpointSlice = serde_json::from_slice(bytes)?;
            let identity = Identity::from(&object.metadata);
            Ok(Seen { identity, object })
        },
    }
}

/// What a watch says, and the name of what it watches.
type Said<I> = (&'static str, News<I>);

fn watch<I: Send + 'static>(
    source: Source<I>,
    api: &ApiClient,
    options: &Options,
    health: &Health,
    metrics: &Arc<Metrics>,
    out: mpsc::Sender<Said<I>>,
) -> impl Future<Output = ()> + use<I> {
    let watch = Watch {
        api: api.clone(),
        health: health.add(source.kind),
        metrics: Arc::clone(metrics),
        source,
        namespace: options.namespace.clone(),
        times: Times::default(),
        out,
    };
    watch.run()
}

/// Brings the owner, the watches and the writers together.
struct Runner<C> {
    owner: Owner<C>,
    writers: Writers,
    events: Events,
    resync: Duration,
}

impl<C: Controller> Runner<C> {
    async fn run(
        mut self,
        mut inputs: mpsc::Receiver<Said<C::Input>>,
        mut slices: mpsc::Receiver<Said<EndpointSlice>>,
        stop: impl Future<Output = ()>,
    ) {
        tokio::pin!(stop);
        let mut look_at_all = (!self.resync.is_zero()).then(|| interval(self.resync));
        let mut measure = interval(MEASURE);
        loop {
            let more = self.work();
            let deadline = self.owner.next_deadline().map(Instant::from_std);
            tokio::select! {
                () = &mut stop => break,
                Some((kind, news)) = inputs.recv() => {
                    self.owner.hear(kind, news, now());
                    while let Ok((kind, news)) = inputs.try_recv() {
                        self.owner.hear(kind, news, now());
                    }
                }
                Some((_, news)) = slices.recv() => self.owner.hear_slices(news, now()),
                ended = self.writers.next() => self.take_in(ended),
                () = until(deadline) => {}
                // News are heard in between.
                () = std::future::ready(()), if more => tokio::task::yield_now().await,
                () = tick(look_at_all.as_mut()) => self.owner.look_at_all(now()),
                _ = measure.tick() => self.owner.measure(now()),
            }
        }
        self.finish().await;
    }

    /// Answers whether there is more to do at once.
    fn work(&mut self) -> bool {
        let work = self.owner.work(KEYS_AT_ONCE, now(), Timestamp::now());
        for job in work.jobs {
            self.writers.start(job);
        }
        self.events.record(work.events);
        work.more
    }

    fn take_in(&mut self, progress: Progress) {
        match progress {
            Progress::Answered { key, write, answer } => self.owner.answered(&key, write, answer),
            Progress::Finished(key) => {
                let events = self.owner.finished(&key, now());
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
            if self.owner.is_quiet() {
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
