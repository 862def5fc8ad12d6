//! The engine: what a controller knows, its cache of slices, its work queue and its writes in flight.
//!
//! A pure state machine between the reflectors and the writers. Time is an argument, and nothing here waits.

mod in_flight;
mod known;
mod relist;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_pace;

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use k8s_openapi::{api::discovery::v1::EndpointSlice, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use slice_controller::{
    Controller, ErrorChain, Event, EventContext, Key, SyncContext, SyncFailure, SyncOutcome, SyncResult,
};
use slice_core::well_known::MANAGED_BY_LABEL;
use slice_reconciler::Write;

use crate::{
    api::Answer,
    metrics::Metrics,
    queue::{Due, Queue},
    slices::{Slices, read},
    watch::WatchEvent,
};
use in_flight::InFlight;
use known::KnownObjects;
use relist::Relist;

/// So many failures in a row are reported by an event.
const FAILURES_BEFORE_EVENT: u32 = 2;

/// How an engine works.
#[derive(Clone, Debug)]
pub(crate) struct EngineConfig {
    /// Value of the managed-by label on our slices.
    pub(crate) managed_by: String,
    /// Keys with writes in flight at the same time.
    pub(crate) concurrency: NonZeroUsize,
    /// The delay after another writer changed a slice (R23).
    pub(crate) foreign_change_delay: Duration,
    /// Whether plans are logged instead of executed.
    pub(crate) dry_run: bool,
}

/// All state around a controller.
pub(crate) struct Engine<C: Controller> {
    controller: C,
    config: EngineConfig,
    context: EventContext,
    /// In the order of the reflectors.
    watches: Vec<WatchState<C::WatchId>>,
    slices: Slices,
    slice_relist: Relist<HashSet<String>>,
    /// Keys whose last successful sync desired something. A resync takes them and the keys with slices; all others either
    /// have nothing to be kept up, or are in the queue.
    active_keys: HashSet<Key>,
    queue: Queue,
    in_flight: HashMap<Key, InFlight>,
    metrics: Arc<Metrics>,
}

/// One watch of the controller.
struct WatchState<W> {
    id: W,
    known: KnownObjects,
    relist: Relist<KnownObjects>,
}

/// A plan to be executed by a writer.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) writes: Vec<Write>,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) jobs: Vec<Job>,
    pub(crate) events: Vec<Event>,
    /// Whether keys are left that could be synced at once.
    pub(crate) has_more: bool,
}

impl<C: Controller> Engine<C> {
    /// An engine that knows nothing yet. Events come from reflectors of these watches, in this order.
    pub(crate) fn new(controller: C, watches: Vec<C::WatchId>, config: EngineConfig, metrics: Arc<Metrics>) -> Self {
        let watches = watches.into_iter().map(|id| WatchState {
            id,
            known: KnownObjects::default(),
            relist: Relist::default(),
        });
        metrics.register(controller.metrics());
        Self {
            watches: watches.collect(),
            controller,
            config,
            context: EventContext::default(),
            slices: Slices::default(),
            slice_relist: Relist::default(),
            active_keys: HashSet::new(),
            queue: Queue::default(),
            in_flight: HashMap::new(),
            metrics,
        }
    }

    /// Handles an event of a watch of the controller, by its place among them.
    pub(crate) fn handle_event(&mut self, watch: usize, event: WatchEvent<C::Object>, now: Instant) {
        let Self {
            controller, context, ..
        } = self;
        let watch = &mut self.watches[watch];
        let mut keys = Vec::new();
        match event {
            WatchEvent::Init => watch.relist.start(),
            WatchEvent::Apply(decoded) => {
                watch.known.insert(&decoded.object_ref, context.interner());
                if let Some(listed) = watch.relist.listed_mut() {
                    listed.insert(&decoded.object_ref, context.interner());
                }
                controller.apply(decoded.object, context);
            }
            WatchEvent::Delete(object) => {
                watch.known.remove(&object);
                if let Some(listed) = watch.relist.listed_mut() {
                    listed.remove(&object);
                }
                controller.delete(watch.id, &object, context);
            }
            WatchEvent::InitDone { .. } => {
                let (listed, deferred) = watch.relist.finish();
                keys = deferred;
                for object in watch.known.retain_listed(&listed) {
                    controller.delete(watch.id, &object, context);
                }
            }
            WatchEvent::Absent => keys = watch.relist.abandon(),
        }
        keys.extend(context.take_enqueued());
        let keys = watch.relist.defer(keys);
        self.enqueue(keys, now);
    }

    /// Handles an event of the watch of our slices.
    pub(crate) fn handle_slice_event(&mut self, event: WatchEvent<EndpointSlice>, now: Instant) {
        // Nothing is synced before every watch has been listed, so there is nothing to wait for.
        let delay = if self.is_synced() {
            self.config.foreign_change_delay
        } else {
            Duration::ZERO
        };
        let mut keys = Vec::new();
        let concerned = match event {
            WatchEvent::Init => {
                self.slice_relist.start();
                Vec::new()
            }
            WatchEvent::Apply(decoded) => {
                if let Some(listed) = self.slice_relist.listed_mut() {
                    listed.insert(decoded.object_ref.uid.into());
                }
                let slice = read(&decoded.object, self.context.interner());
                self.slices.show(self.controller.key_of(&slice.metadata), slice)
            }
            WatchEvent::Delete(object) => self.slices.gone(&object.uid).into_iter().collect(),
            WatchEvent::InitDone { version } => {
                let (listed, deferred) = self.slice_relist.finish();
                keys = deferred;
                self.slices.relisted(&listed, &version)
            }
            WatchEvent::Absent => unreachable!("the watch of our slices is not optional"),
        };
        keys.extend(concerned.into_iter().map(|key| (key, delay)));
        let keys = self.slice_relist.defer(keys);
        self.enqueue(keys, now);
    }

    /// Enqueues keys. A key that is already queued does not count as an add, as in client-go.
    fn enqueue(&mut self, keys: impl IntoIterator<Item = (Key, Duration)>, now: Instant) {
        for (key, delay) in keys {
            if self.queue.add(key, delay, now) {
                self.metrics.queue.added(delay);
            }
        }
    }

    /// Whether every watch has been listed, or is of a resource that the API server lacks: before that, nothing is synced (I11).
    pub(crate) fn is_synced(&self) -> bool {
        self.slice_relist.is_synced() && self.watches.iter().all(|watch| watch.relist.is_synced())
    }

    /// Whether a list of any watch is arriving.
    fn is_listing(&self) -> bool {
        self.slice_relist.is_listing() || self.watches.iter().any(|watch| watch.relist.is_listing())
    }

    /// Enqueues every key that has slices or desires something (R6).
    pub(crate) fn resync_all(&mut self, now: Instant) {
        let keys: HashSet<Key> = self.active_keys.iter().chain(self.slices.keys()).cloned().collect();
        self.enqueue(keys.into_iter().map(|key| (key, Duration::ZERO)), now);
    }

    /// When there will be something to do, even if nothing happens.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.queue
            .next_deadline()
            .filter(|_| self.is_synced() && self.below_concurrency_limit())
    }

    /// Whether one more key may have writes in flight. If not, nothing can be done before a write is answered.
    fn below_concurrency_limit(&self) -> bool {
        self.in_flight.len() < self.config.concurrency.get()
    }

    /// Whether no writes are in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Syncs keys that are due, at most `limit` of them, and none above the concurrency limit.
    pub(crate) fn process_due(&mut self, limit: usize, now: Instant, time: Timestamp) -> Batch {
        let mut batch = Batch::default();
        if !self.is_synced() {
            return batch;
        }
        // A relist has to be complete: deletions are known only then.
        if !self.is_listing() {
            self.controller.before_sync(&mut self.context);
            let keys = self.context.take_enqueued();
            self.enqueue(keys, now);
        }
        for _ in 0..limit {
            if !self.below_concurrency_limit() {
                break;
            }
            let Some(due) = self.queue.next(now) else { break };
            self.sync_key(due, now, time, &mut batch);
        }
        self.metrics.queue.depth(self.queue.depth());
        batch.has_more = self.below_concurrency_limit() && self.queue.depth() > 0;
        batch
    }

    fn sync_key(&mut self, due: Due, now: Instant, time: Timestamp, batch: &mut Batch) {
        let key = due.key.clone();
        let context = SyncContext {
            existing: self.slices.of(&key),
            reserved_names: self.slices.taken(&key),
            now: time,
        };
        let decided = self.controller.sync(&key, &context);
        self.metrics.apply(self.controller.take_measurements());
        self.metrics.queue.taken(now.saturating_duration_since(due.since));
        let mut flight = InFlight::new(due, now);
        match decided {
            Ok(SyncResult {
                plan,
                events,
                requeue_after,
            }) => {
                flight.is_active = !plan.stats.is_empty() || !events.is_empty() || requeue_after.is_some();
                flight.requeue_after = requeue_after;
                batch.events.extend(events);
                if self.config.dry_run {
                    log_plan(&key, &plan.writes);
                } else if !plan.writes.is_empty() {
                    flight.begin(&plan.writes, &mut self.slices);
                    self.in_flight.insert(key.clone(), flight);
                    batch.jobs.push(Job {
                        key,
                        writes: plan.writes,
                    });
                    return;
                }
            }
            Err(error) => flight.outcome.failures.push(SyncFailure::Sync(error)),
        }
        self.complete_sync(&key, flight, now, &mut batch.events);
    }

    /// A write was answered, or skipped because a write that it depends on failed.
    pub(crate) fn on_write_result(&mut self, key: &Key, write: usize, answer: Answer) {
        if let Some(flight) = self.in_flight.get_mut(key) {
            let is_ours = |slice: &EndpointSlice| {
                let labels = slice.metadata.labels.as_ref();
                labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)) == Some(&self.config.managed_by)
            };
            let key_of = |slice: &ObjectMeta| self.controller.key_of(slice);
            flight.on_write_result(
                write,
                answer,
                &mut self.slices,
                self.context.interner(),
                is_ours,
                key_of,
            );
        }
    }

    /// All writes of a key have been answered or skipped.
    pub(crate) fn on_writes_done(&mut self, key: &Key, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(mut flight) = self.in_flight.remove(key) {
            flight.end(&mut self.slices);
            if self.slices.finish(key) {
                self.enqueue([(key.clone(), self.config.foreign_change_delay)], now);
            }
            self.complete_sync(key, flight, now, &mut events);
        }
        events
    }

    /// Completes a sync: reports the outcome, requeues, updates metrics, logs.
    fn complete_sync(&mut self, key: &Key, flight: InFlight, now: Instant, events: &mut Vec<Event>) {
        let ended = flight.ended();
        let InFlight {
            mut outcome,
            requeue_after,
            is_active,
            since,
            started,
            ..
        } = flight;
        outcome.duration = now.saturating_duration_since(started);
        self.controller.on_sync_result(key, &outcome);
        self.metrics.apply(self.controller.take_measurements());
        self.queue.done(key, ended, now);
        if outcome.is_success() {
            if is_active {
                self.active_keys.insert(key.clone());
            } else {
                self.active_keys.remove(key);
            }
            self.enqueue(requeue_after.map(|delay| (key.clone(), delay)), now);
        }
        self.metrics.queue.finished(outcome.duration, outcome.is_success());
        if outcome.is_success() && outcome.writes.any() {
            self.metrics.written(now.saturating_duration_since(since));
        }
        log_outcome(key, &outcome);
        if self.queue.failures(key) >= FAILURES_BEFORE_EVENT {
            events.extend(self.controller.failure_event(key, &outcome.failures));
        }
    }

    /// Updates the gauges that are not kept up to date by events.
    pub(crate) fn update_gauges(&self, now: Instant) {
        let failing = self
            .queue
            .failing()
            .map(|(_, since)| now.saturating_duration_since(since));
        self.metrics.failing(failing);
        let running = self
            .in_flight
            .values()
            .map(|flight| now.saturating_duration_since(flight.started));
        self.metrics.queue.running(running);
        self.metrics.queue.depth(self.queue.depth());
    }
}

fn log_plan(key: &Key, writes: &[Write]) {
    for write in writes {
        tracing::info!(%key, write = %write.operation, "would write");
    }
}

fn log_outcome(key: &Key, outcome: &SyncOutcome) {
    let writes = outcome.writes;
    if writes.any() {
        tracing::info!(%key, created = writes.created, updated = writes.updated, deleted = writes.deleted, "slices written");
    }
    for failure in &outcome.failures {
        let failure = ErrorChain(failure);
        tracing::warn!(%key, %failure, "a sync failed and will be tried again");
    }
}
