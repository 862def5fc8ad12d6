//! The engine: the controller with its known objects, the slice cache, the work queue and the writes in flight.
//!
//! A pure state machine between the reflectors and the writers: time is an argument, and no call blocks. In the order of one
//! change:
//!
//! ```text
//! handle_event, handle_slice_event   a reflector emits a watch event; the controller applies it and enqueues keys
//!   └ complete_list                  deletes the objects that a list lacks, or requests a list that confirms it
//!   └ enqueue                        adds the keys to the work queue; deferred while a relist is incomplete
//! process_due                        takes the due keys that are admitted (see `admission/`)
//!   └ sync_key                       calls Controller::sync: desired + existing → plan; adds the plan to the batch as a Job
//! on_write_result                    a writer reports the result of one write; it is applied to the slice cache
//! on_writes_done                     a writer reports that the plan is executed
//!   └ complete_sync                  requeues or forgets the key, updates metrics, logs, records a failure event
//! ```
//!
//! A conflict (another writer changed a slice first) is handled in three steps. `api.rs` reads the live slice and returns
//! [`WriteResult::Conflict`]. `InFlight::on_conflict` puts the live slice into the cache. `complete_sync` passes
//! `SyncStatus::Conflict` to the work queue, which requeues the key at once the first time, then with backoff.

mod debug_state;
mod dry_run;
mod failing_keys;
mod foreign_changes;
mod in_flight;
mod known;
mod pending_write;
mod relist;
mod removal_confirmation;
mod retry_reason;
#[cfg(test)]
mod tests;
mod watch_events;

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_controller::{
    Controller, Enqueued, Event, EventContext, Key, SyncContext, SyncFailure, SyncOutcome, SyncResult,
};
use slice_core::well_known::MANAGED_BY_LABEL;
use slice_reconciler::Write;
use tracing::Span;

#[cfg(feature = "simulation")]
use crate::queue::Place;
use crate::{
    admission::{Admission, Response},
    api::WriteResult,
    escape::Escaped,
    failure_log::LogInterval,
    metrics::Metrics,
    queue::{QueuedKey, SyncStatus, WorkQueue},
    slice_cache::SliceCache,
    watch::ConfirmationRequest,
};
pub(crate) use debug_state::{DebugState, since};
use dry_run::DryRun;
use failing_keys::FailingKeys;
use in_flight::{InFlight, Ownership};
use known::KnownObjects;
use relist::Relist;
use removal_confirmation::RemovalConfirmation;
pub(crate) use removal_confirmation::UNCONFIRMED_REMOVALS;
use retry_reason::retry_reason;

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
    /// Up to this number, a relist removes endpoints without confirmation.
    pub(crate) unconfirmed_removals: usize,
    /// Whether plans are logged instead of executed.
    pub(crate) dry_run: bool,
    /// The source of jitter.
    pub(crate) random: fastrand::Rng,
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
    /// The epoch of the slice cache in which all keys were last enqueued.
    resynced_epoch: u64,
    queue: WorkQueue,
    admission: Admission,
    in_flight: HashMap<Key, InFlight>,
    /// Whether the controller was prepared for syncs at least once.
    prepared: bool,
    failing_keys: FailingKeys,
    foreign_changes: LogInterval,
    dry_run: DryRun,
    /// The term of leadership; none while this instance stands by, and 0 without leader election.
    term: Option<u64>,
    /// The term up to which the watch of our slices has caught up.
    slices_caught_up: u64,
    /// Lists to be confirmed, by the index of their watch.
    confirmations: Vec<(usize, ConfirmationRequest)>,
    metrics: Arc<Metrics>,
}

/// The state of one watch of the controller.
struct WatchedResource<W> {
    id: W,
    known: KnownObjects,
    relist: Relist<KnownObjects>,
    removal_confirmation: RemovalConfirmation,
    /// The term up to which the watch has caught up.
    caught_up: u64,
}

/// A plan to be executed by a writer.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) writes: Vec<Write>,
    /// Maximum number of writes in flight.
    pub(crate) max_in_flight: NonZeroUsize,
    /// Whether the writes are sent as dry runs, to find out whether the labels of slices are still rewritten.
    pub(crate) probe: bool,
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
            removal_confirmation: RemovalConfirmation::new(config.unconfirmed_removals),
            caught_up: 0,
        });
        metrics.register(controller.metrics());
        Self {
            watches: watches.collect(),
            controller,
            admission: Admission::new(config.concurrency),
            config,
            context: EventContext::default(),
            slices: SliceCache::default(),
            slice_relist: Relist::default(),
            active_keys: HashSet::new(),
            resynced_epoch: 0,
            queue: WorkQueue::default(),
            in_flight: HashMap::new(),
            prepared: false,
            failing_keys: FailingKeys::default(),
            foreign_changes: LogInterval::default(),
            dry_run: DryRun::default(),
            term: Some(0),
            slices_caught_up: 0,
            confirmations: Vec::new(),
            metrics,
        }
    }

    /// Enqueues keys. A key that is already queued does not count as an add, as in client-go.
    ///
    /// In the order of the keys, which else is that of a hash map: a simulated schedule must be repeatable.
    fn enqueue(&mut self, keys: impl IntoIterator<Item = Enqueued>, now: Instant) {
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_by(|a, b| a.key.cmp(&b.key));
        for enqueued in keys {
            self.dry_run.on_change(&enqueued.key, now);
            self.add_to_queue(enqueued, now);
        }
    }

    fn add_to_queue(&mut self, enqueued: Enqueued, now: Instant) {
        let delay = enqueued.delay;
        if self.queue.add(enqueued, now) {
            self.metrics.queue.added(delay);
        }
    }

    /// Whether the initial lists of all watches are complete, except for optional resources that the API server lacks. No key
    /// is synced before (I11).
    pub(crate) fn is_synced(&self) -> bool {
        self.slice_relist.is_synced() && self.watches.iter().all(|watch| watch.relist.is_synced())
    }

    /// Whether keys may be synced: this instance leads, and every watch has shown what happened before its term. Else a sync
    /// could remove endpoints that the leader before has published (I4).
    pub(crate) fn may_sync(&self) -> bool {
        let caught_up =
            |term| self.slices_caught_up >= term && self.watches.iter().all(|watch| watch.caught_up >= term);
        self.is_synced() && self.term.is_some_and(caught_up)
    }

    /// The term of leadership.
    pub(crate) fn term(&self) -> Option<u64> {
        self.term
    }

    /// This instance became the leader, or does not lead. Keys stay queued meanwhile.
    pub(crate) fn set_term(&mut self, term: Option<u64>, now: Instant) {
        self.term = term;
        if term.is_some() {
            // Latencies and failures are measured from now on, as after a restart.
            self.queue.restart(now);
            self.update_gauges(now);
        }
        self.metrics.standby(term.is_none(), self.controller.metrics());
    }

    /// Whether a list of any watch has started and is not complete.
    fn is_listing(&self) -> bool {
        self.slice_relist.is_listing() || self.watches.iter().any(|watch| watch.relist.is_listing())
    }

    /// Resync: enqueues every key with existing or desired slices (R6).
    pub(crate) fn resync_all(&mut self, now: Instant) {
        let keys = self.resync_keys();
        self.enqueue(keys, now);
    }

    /// Every key with existing or desired slices.
    fn resync_keys(&self) -> Vec<Enqueued> {
        let keys: HashSet<&Key> = self.active_keys.iter().chain(self.slices.keys()).collect();
        let keys = keys.into_iter().cloned();
        keys.map(|key| Enqueued::after(key, Duration::ZERO)).collect()
    }

    /// When to call [`process_due`](Self::process_due) if no event arrives before.
    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.may_sync()
            .then(|| self.admission.next_deadline(&self.queue, now))
            .flatten()
    }

    /// A list or a watch was rejected because the API server is overloaded.
    fn on_overload(&mut self, retry_after: Option<Duration>, now: Instant) {
        let closed_until = self.admission.close(retry_after, now);
        self.report_gate(closed_until, now);
    }

    /// Until when requests are held back, because the API server rejects them.
    pub(crate) fn gate_closed_until(&self, now: Instant) -> Option<Instant> {
        self.admission.state(now).closed_until
    }

    /// Logs and counts that the gate was closed.
    fn report_gate(&self, closed_until: Option<Instant>, now: Instant) {
        if let Some(closed_until) = closed_until {
            let retry_in = closed_until.saturating_duration_since(now);
            tracing::warn!(?retry_in, "the API server rejects requests; holding all writes back");
            self.metrics.gate_closed();
        }
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

    /// The keys that are due and not admitted yet.
    #[cfg(feature = "simulation")]
    pub(crate) fn ready_keys(&self) -> impl Iterator<Item = &Key> {
        let ready = self.queue.entries();
        ready.filter_map(|(key, place)| matches!(place, Place::Ready(..)).then_some(key))
    }

    /// Whether a key is queued or in flight.
    #[cfg(feature = "simulation")]
    pub(crate) fn is_queued(&self, key: &Key) -> bool {
        self.queue.contains(key)
    }

    /// Syncs keys that are due and admitted, at most `limit` of them.
    pub(crate) fn process_due(&mut self, limit: usize, now: Instant, time: Timestamp) -> Batch {
        let mut batch = Batch::default();
        if !self.may_sync() {
            return batch;
        }
        // Wait for a relist to complete: deletions are only known then. But no key is synced before the controller was prepared
        // once (W19).
        if !self.prepared || !self.is_listing() {
            self.prepared = true;
            self.controller.before_sync(&mut self.context);
            let keys = self.context.take_enqueued();
            self.enqueue(keys, now);
        }
        for _ in 0..limit {
            let Some(queued) = self.admission.next(&mut self.queue, now) else {
                break;
            };
            self.sync_key(queued, now, time, &mut batch);
        }
        self.metrics.queue.depth(self.queue.depth());
        batch.has_more = self.admission.has_next(&self.queue, now);
        batch
    }

    /// Syncs a key: adds its plan to the batch as a job, or completes the sync at once if there is nothing to write.
    fn sync_key(&mut self, queued: QueuedKey, now: Instant, time: Timestamp, batch: &mut Batch) {
        let span = tracing::info_span!("sync", key = %Escaped(&queued.key), attempt = queued.attempt);
        let _entered = span.clone().entered();
        let (key, is_retry) = (queued.key.clone(), queued.attempt > 1);
        let reserved_names = self.slices.reserved.names(&key, now);
        let context = SyncContext {
            existing: self.slices.get(&key),
            reserved_names: &reserved_names,
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
                    let due_in = self.dry_run.on_plan(&key, &plan.writes, now);
                    flight.requeue_after = due_in.into_iter().chain(requeue_after).min();
                } else if !plan.writes.is_empty() {
                    let writes = flight.begin_writes(plan.writes, &mut self.slices);
                    let probe = flight.outcome.probe;
                    self.in_flight.insert(key.clone(), flight);
                    batch.jobs.push(Job {
                        max_in_flight: self.admission.start(&key, is_retry, writes.len(), now),
                        key,
                        writes,
                        probe,
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
    pub(crate) fn on_write_result(&mut self, key: &Key, write: usize, result: WriteResult, now: Instant) {
        if let Some(response) = Response::of(&result) {
            let closed_until = self.admission.on_response(key, response, now);
            self.report_gate(closed_until, now);
        }
        let Some(flight) = self.in_flight.get_mut(key) else {
            return;
        };
        let _entered = flight.span.clone().entered();
        let owner_of = |metadata: &ObjectMeta| {
            let labels = metadata.labels.as_ref();
            if labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)) == Some(&self.config.managed_by) {
                Ownership::Ours(self.controller.key_of(metadata))
            } else {
                Ownership::Foreign
            }
        };
        let interner = self.context.interner();
        let moved_to = flight.on_write_result(write, result, &mut self.slices, interner, owner_of, now);
        let delay = self.config.foreign_change_delay;
        self.enqueue(moved_to.into_iter().map(|key| Enqueued::after(key, delay)), now);
    }

    /// Ends the writes of a key: all have a result, or the writer panicked. Returns events to record.
    pub(crate) fn on_writes_done(&mut self, key: &Key, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        self.admission.end(key);
        if let Some(mut flight) = self.in_flight.remove(key) {
            let _entered = flight.span.clone().entered();
            flight.end_writes(&mut self.slices);
            if self.slices.end_sync(key) {
                self.metrics.foreign_change();
                self.enqueue([Enqueued::after(key.clone(), self.config.foreign_change_delay)], now);
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
            changed_at,
            started_at,
            ..
        } = flight;
        outcome.duration = now.saturating_duration_since(started_at);
        self.controller.on_sync_result(key, &outcome);
        self.metrics.apply(self.controller.take_measurements());
        self.queue.done(key, status, self.config.random.f64(), now);
        // Also after a probe: one that a terminating namespace rejects is not repeated.
        if outcome.failures.is_empty() {
            if is_active {
                self.active_keys.insert(key.clone());
            } else {
                self.active_keys.remove(key);
            }
        }
        if let (SyncStatus::Success, Some(delay)) = (status, requeue_after) {
            self.add_to_queue(Enqueued::after(key.clone(), delay), now);
        }
        self.metrics.queue.finished(outcome.duration, outcome.is_success());
        if outcome.is_success() && outcome.writes.any() {
            self.metrics.written(now.saturating_duration_since(changed_at));
        }
        self.metrics.sync_retried(retry_reason(&outcome));
        log_writes(&outcome);
        self.failing_keys.record(key, &outcome, now);
        // A conflict needs no action: the key is synced again with the live slice.
        outcome.failures.retain(|failure| !failure.is_conflict());
        if !outcome.failures.is_empty() && self.queue.failures(key) >= FAILURES_BEFORE_EVENT {
            events.extend(self.controller.failure_event(key, &outcome.failures));
        }
    }

    /// Releases the memory of strings and identities that deleted objects had, a part per call.
    pub(crate) fn sweep_interner(&mut self) {
        self.context.interner().sweep();
    }

    /// Updates the gauges that change with time, and drops expired state.
    pub(crate) fn update_gauges(&mut self, now: Instant) {
        self.slices.reserved.sweep(now);
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
        self.metrics.admission(self.admission.state(now), now);
        self.metrics.dry_run_differences(self.dry_run.differences());
    }
}

/// Logs the successful writes of a sync, in its span.
fn log_writes(outcome: &SyncOutcome) {
    let writes = outcome.writes;
    if writes.any() {
        tracing::info!(
            created = writes.created,
            updated = writes.updated,
            deleted = writes.deleted,
            "slices written"
        );
    }
}
