//! The engine: the controller with its known objects, the slice cache, the work queue and the writes in flight.
//!
//! A pure state machine between the reflectors and the writers: time is an argument, and no call blocks. In the order of one
//! change:
//!
//! ```text
//! handle_event, handle_slice_event   a reflector emits a watch event; the controller applies it and enqueues keys
//!   └ enqueue                        adds the keys to the work queue; deferred while a relist is incomplete
//! process_due                        takes due keys, up to the limit of keys in flight
//!   └ sync_key                       calls Controller::sync: desired + existing → plan; adds the plan to the batch as a Job
//! on_write_result                    a writer reports the result of one write; it is applied to the slice cache
//! on_writes_done                     a writer reports that the plan is executed
//!   └ complete_sync                  requeues or forgets the key, updates metrics, logs, records a failure event
//! ```
//!
//! A conflict (another writer changed a slice first) is handled in three steps. `api.rs` reads the live slice and returns
//! [`WriteResult::Conflict`]. `InFlight::on_conflict` puts the live slice into the cache. `complete_sync` passes
//! `SyncStatus::Conflict` to the work queue, which requeues the key at once the first time, then with backoff.

mod in_flight;
mod known;
mod relist;
#[cfg(test)]
mod tests;

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
use tracing::Span;

use crate::{
    api::WriteResult,
    escape::Escaped,
    metrics::Metrics,
    queue::{QueuedKey, WorkQueue},
    slice_cache::{SliceCache, decode},
    watch::WatchEvent,
};
use in_flight::InFlight;
use known::KnownObjects;
use relist::Relist;

/// Failures in a row of a key from which on a failure event is recorded.
const FAILURES_BEFORE_EVENT: u32 = 2;

/// The configuration of an engine.
#[derive(Clone, Debug)]
pub(crate) struct EngineConfig {
    /// Value of the managed-by label on our slices.
    pub(crate) managed_by: String,
    /// Maximum number of keys with writes in flight.
    pub(crate) concurrency: NonZeroUsize,
    /// The delay after another writer changed a slice (R23).
    pub(crate) foreign_change_delay: Duration,
    /// Whether plans are logged instead of executed.
    pub(crate) dry_run: bool,
}

/// A controller and all state around it.
pub(crate) struct Engine<C: Controller> {
    controller: C,
    config: EngineConfig,
    context: EventContext,
    /// In the order of the controller's watches.
    watches: Vec<WatchedResource<C::WatchId>>,
    slices: SliceCache,
    slice_relist: Relist<HashSet<String>>,
    /// Keys whose last successful sync had desired slices. A resync enqueues them and all keys with slices. Other keys need no
    /// resync, or are in the queue.
    active_keys: HashSet<Key>,
    queue: WorkQueue,
    in_flight: HashMap<Key, InFlight>,
    metrics: Arc<Metrics>,
}

/// The state of one watch of the controller.
struct WatchedResource<W> {
    id: W,
    known: KnownObjects,
    relist: Relist<KnownObjects>,
}

/// A plan to be executed by a writer.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) writes: Vec<Write>,
    /// The span of the sync, for the log lines of its writes.
    pub(crate) span: Span,
}

/// The result of syncing due keys.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Plans to execute.
    pub(crate) jobs: Vec<Job>,
    /// Events to record.
    pub(crate) events: Vec<Event>,
    /// Whether more keys can be synced at once.
    pub(crate) has_more: bool,
}

impl<C: Controller> Engine<C> {
    /// An engine without objects. `watches` are the ids of the controller's watches, in the order of their reflectors.
    pub(crate) fn new(controller: C, watches: Vec<C::WatchId>, config: EngineConfig, metrics: Arc<Metrics>) -> Self {
        let watches = watches.into_iter().map(|id| WatchedResource {
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
            slices: SliceCache::default(),
            slice_relist: Relist::default(),
            active_keys: HashSet::new(),
            queue: WorkQueue::default(),
            in_flight: HashMap::new(),
            metrics,
        }
    }

    /// Handles an event of a watch of the controller, given by its index, and enqueues the keys that the event concerns.
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

    /// Handles an event of the watch of our slices, and enqueues the keys of slices that another writer changed.
    pub(crate) fn handle_slice_event(&mut self, event: WatchEvent<EndpointSlice>, now: Instant) {
        // During the initial lists no delay is needed: no key is synced before they are complete.
        let delay = if self.is_synced() {
            self.config.foreign_change_delay
        } else {
            Duration::ZERO
        };
        let mut keys = Vec::new();
        let changed = match event {
            WatchEvent::Init => {
                self.slice_relist.start();
                Vec::new()
            }
            WatchEvent::Apply(decoded) => {
                if let Some(listed) = self.slice_relist.listed_mut() {
                    listed.insert(decoded.object_ref.uid.into());
                }
                let slice = decode(&decoded.object, self.context.interner());
                self.slices.apply(self.controller.key_of(&slice.metadata), slice)
            }
            WatchEvent::Delete(object) => self.slices.remove(&object.uid).into_iter().collect(),
            WatchEvent::InitDone { version } => {
                let (listed, deferred) = self.slice_relist.finish();
                keys = deferred;
                self.slices.replace(&listed, &version)
            }
            WatchEvent::Absent => unreachable!("the watch of our slices is not optional"),
        };
        keys.extend(changed.into_iter().map(|key| (key, delay)));
        let keys = self.slice_relist.defer(keys);
        self.enqueue(keys, now);
    }

    /// Enqueues keys. A key that is already queued does not count as an add, as in client-go.
    ///
    /// In the order of the keys, which else is that of a hash map: a simulated schedule must be repeatable.
    fn enqueue(&mut self, keys: impl IntoIterator<Item = (Key, Duration)>, now: Instant) {
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort();
        for (key, delay) in keys {
            if self.queue.add(key, delay, now) {
                self.metrics.queue.added(delay);
            }
        }
    }

    /// Whether the initial lists of all watches are complete, except for optional resources that the API server lacks. No key
    /// is synced before (I11).
    pub(crate) fn is_synced(&self) -> bool {
        self.slice_relist.is_synced() && self.watches.iter().all(|watch| watch.relist.is_synced())
    }

    /// Whether a list of any watch has started and is not complete.
    fn is_listing(&self) -> bool {
        self.slice_relist.is_listing() || self.watches.iter().any(|watch| watch.relist.is_listing())
    }

    /// Resync: enqueues every key with existing or desired slices (R6).
    pub(crate) fn resync_all(&mut self, now: Instant) {
        let keys: HashSet<Key> = self.active_keys.iter().chain(self.slices.keys()).cloned().collect();
        self.enqueue(keys.into_iter().map(|key| (key, Duration::ZERO)), now);
    }

    /// When to call [`process_due`](Self::process_due) if no event arrives before.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.queue
            .next_deadline()
            .filter(|_| self.is_synced() && self.below_concurrency_limit())
    }

    /// Whether one more key may have writes in flight. If not, no key is synced before one completes.
    fn below_concurrency_limit(&self) -> bool {
        self.in_flight.len() < self.config.concurrency.get()
    }

    /// Whether no writes are in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The number of keys that are queued or in flight.
    #[cfg(feature = "simulation")]
    pub(crate) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Whether a key is queued or in flight.
    #[cfg(feature = "simulation")]
    pub(crate) fn is_queued(&self, key: &Key) -> bool {
        self.queue.contains(key)
    }

    /// Syncs keys that are due, at most `limit` of them, and none above the concurrency limit.
    pub(crate) fn process_due(&mut self, limit: usize, now: Instant, time: Timestamp) -> Batch {
        let mut batch = Batch::default();
        if !self.is_synced() {
            return batch;
        }
        // Wait for a relist to complete: deletions are only known then.
        if !self.is_listing() {
            self.controller.before_sync(&mut self.context);
            let keys = self.context.take_enqueued();
            self.enqueue(keys, now);
        }
        for _ in 0..limit {
            if !self.below_concurrency_limit() {
                break;
            }
            let Some(queued) = self.queue.next(now) else { break };
            self.sync_key(queued, now, time, &mut batch);
        }
        self.metrics.queue.depth(self.queue.depth());
        batch.has_more = self.below_concurrency_limit() && self.queue.depth() > 0;
        batch
    }

    /// Syncs a key: adds its plan to the batch as a job, or completes the sync at once if there is nothing to write.
    fn sync_key(&mut self, queued: QueuedKey, now: Instant, time: Timestamp, batch: &mut Batch) {
        let span = tracing::info_span!("sync", key = %Escaped(&queued.key), attempt = queued.attempt);
        let _entered = span.clone().entered();
        let key = queued.key.clone();
        let context = SyncContext {
            existing: self.slices.get(&key),
            reserved_names: self.slices.reserved_names(&key),
            now: time,
        };
        let result = self.controller.sync(&key, &context);
        self.metrics.apply(self.controller.take_measurements());
        self.metrics
            .queue
            .started(now.saturating_duration_since(queued.added_at));
        let mut flight = InFlight::new(queued, span.clone(), now);
        match result {
            Ok(SyncResult {
                plan,
                events,
                requeue_after,
            }) => {
                flight.is_active = !plan.stats.is_empty() || !events.is_empty() || requeue_after.is_some();
                flight.requeue_after = requeue_after;
                batch.events.extend(events);
                if self.config.dry_run {
                    log_plan(&plan.writes);
                } else if !plan.writes.is_empty() {
                    flight.begin_writes(&plan.writes, &mut self.slices);
                    self.in_flight.insert(key.clone(), flight);
                    batch.jobs.push(Job {
                        key,
                        writes: plan.writes,
                        span,
                    });
                    return;
                }
            }
            Err(error) => flight.outcome.failures.push(SyncFailure::Sync(error)),
        }
        self.complete_sync(&key, flight, now, &mut batch.events);
    }

    /// Applies the result of one write to the slice cache. `write` is its index in the plan.
    pub(crate) fn on_write_result(&mut self, key: &Key, write: usize, result: WriteResult) {
        if let Some(flight) = self.in_flight.get_mut(key) {
            let _entered = flight.span.clone().entered();
            let is_ours = |slice: &EndpointSlice| {
                let labels = slice.metadata.labels.as_ref();
                labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)) == Some(&self.config.managed_by)
            };
            let key_of = |slice: &ObjectMeta| self.controller.key_of(slice);
            flight.on_write_result(
                write,
                result,
                &mut self.slices,
                self.context.interner(),
                is_ours,
                key_of,
            );
        }
    }

    /// Ends the writes of a key: all have a result, or the writer panicked. Returns events to record.
    pub(crate) fn on_writes_done(&mut self, key: &Key, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(mut flight) = self.in_flight.remove(key) {
            let _entered = flight.span.clone().entered();
            flight.abort_pending(&mut self.slices);
            if self.slices.end_sync(key) {
                self.enqueue([(key.clone(), self.config.foreign_change_delay)], now);
            }
            self.complete_sync(key, flight, now, &mut events);
        }
        events
    }

    /// Completes a sync: reports the outcome, requeues, updates metrics, logs.
    fn complete_sync(&mut self, key: &Key, flight: InFlight, now: Instant, events: &mut Vec<Event>) {
        let status = flight.status();
        let InFlight {
            mut outcome,
            requeue_after,
            is_active,
            added_at,
            started_at,
            ..
        } = flight;
        outcome.duration = now.saturating_duration_since(started_at);
        self.controller.on_sync_result(key, &outcome);
        self.metrics.apply(self.controller.take_measurements());
        self.queue.done(key, status, now);
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
            self.metrics.written(now.saturating_duration_since(added_at));
        }
        log_outcome(&outcome);
        if self.queue.failures(key) >= FAILURES_BEFORE_EVENT {
            events.extend(self.controller.failure_event(key, &outcome.failures));
        }
    }

    /// Updates the gauges that change with time.
    pub(crate) fn update_gauges(&self, now: Instant) {
        let failing = self
            .queue
            .failing()
            .map(|(_, since)| now.saturating_duration_since(since));
        self.metrics.failing(failing);
        let processing = self
            .in_flight
            .values()
            .map(|flight| now.saturating_duration_since(flight.started_at));
        self.metrics.queue.processing(processing);
        self.metrics.queue.depth(self.queue.depth());
    }
}

/// Logs the writes of a dry run, in the span of the sync.
fn log_plan(writes: &[Write]) {
    for write in writes {
        tracing::info!(write = %Escaped(&write.operation), "dry run: would write");
    }
}

/// Logs the outcome of a sync, in its span.
fn log_outcome(outcome: &SyncOutcome) {
    let writes = outcome.writes;
    if writes.any() {
        tracing::info!(
            created = writes.created,
            updated = writes.updated,
            deleted = writes.deleted,
            "slices written"
        );
    }
    for failure in &outcome.failures {
        tracing::warn!(error = %Escaped(ErrorChain(failure)), "sync failed; the key is requeued");
    }
}
