//! The one owner of all state: what is known, what waits, what is being written.
//!
//! A pure state machine between the watches and the writers. Time is an argument, and nothing here waits.

mod in_flight;
mod listing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_pace;

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::{Change, Controller, Event, Failure, Key, Outcome, Sync, SyncContext, Wakes};
use slice_core::names::MANAGED_BY_LABEL;
use slice_reconciler::Write;

use crate::{
    api::Answer,
    metrics::Metrics,
    queue::{Due, Queue},
    slices::{Slices, read},
    watch::News,
};
use in_flight::InFlight;
use listing::Listings;

/// The name under which the slices themselves are watched.
pub(crate) const SLICES: &str = "endpointslices";

/// A failure is told to people when it has happened so often in a row.
const LASTING: u32 = 2;

/// How an owner works.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Value of the managed-by label on our slices.
    pub(crate) managed_by: String,
    /// Keys with writes under way at the same time.
    pub(crate) concurrency: NonZeroUsize,
    /// How long to wait after somebody else changed a slice (R23).
    pub(crate) slice_delay: Duration,
    /// Whether plans are logged instead of carried out.
    pub(crate) dry_run: bool,
}

/// Owns all state.
pub(crate) struct Owner<C> {
    controller: C,
    settings: Settings,
    queue: Queue,
    slices: Slices,
    listings: Listings,
    in_flight: HashMap<Key, InFlight>,
    wakes: Wakes,
    metrics: Arc<Metrics>,
}

/// A plan to be carried out by a writer.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) writes: Vec<Write>,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) jobs: Vec<Job>,
    pub(crate) events: Vec<Event>,
    /// Whether keys are left that could be looked at at once.
    pub(crate) more: bool,
}

impl<C: Controller> Owner<C> {
    pub(crate) fn new(controller: C, settings: Settings, metrics: Arc<Metrics>) -> Self {
        let mut kinds: Vec<_> = controller.sources().iter().map(|source| source.kind).collect();
        kinds.push(SLICES);
        metrics.register(controller.metrics());
        Self {
            controller,
            settings,
            queue: Queue::default(),
            slices: Slices::default(),
            listings: Listings::new(kinds),
            in_flight: HashMap::new(),
            wakes: Wakes::default(),
            metrics,
        }
    }

    /// A watch of the controller's says something.
    pub(crate) fn hear(&mut self, kind: &'static str, news: News<C::Input>, now: Instant) {
        let mut wakes = Vec::new();
        match news {
            News::Listing => self.listings.begin(kind),
            News::Applied(seen) => {
                self.listings.note(kind, &seen.identity);
                self.controller.observe(Change::Applied(seen.object), &mut self.wakes);
            }
            News::Deleted(identity) => self
                .controller
                .observe(Change::Deleted { kind, identity }, &mut self.wakes),
            News::Listed { .. } => {
                let held = self.controller.held(kind);
                let (gone, waiting) = self.listings.end(kind, held);
                wakes = waiting;
                for identity in gone {
                    self.controller
                        .observe(Change::Deleted { kind, identity }, &mut self.wakes);
                }
            }
        }
        wakes.extend(self.wakes.drain());
        let wakes = self.listings.keep(kind, wakes);
        self.ask(wakes, now);
    }

    /// The watch of the slices says something.
    pub(crate) fn hear_slices(&mut self, news: News<EndpointSlice>, now: Instant) {
        // Until everything is known nothing is decided, so there is nothing to wait for.
        let delay = if self.is_synced() {
            self.settings.slice_delay
        } else {
            Duration::ZERO
        };
        let mut wakes = Vec::new();
        let concerned = match news {
            News::Listing => {
                self.listings.begin(SLICES);
                Vec::new()
            }
            News::Applied(seen) => {
                self.listings.note(SLICES, &seen.identity);
                let slice = read(&seen.object, self.controller.interner());
                self.slices.show(slice)
            }
            News::Deleted(identity) => self.slices.gone(&identity.uid).into_iter().collect(),
            News::Listed { version } => {
                let (listed, waiting) = self.listings.end_by_uid(SLICES);
                wakes = waiting;
                self.slices.relisted(&listed, &version)
            }
        };
        wakes.extend(concerned.into_iter().map(|key| (key, delay)));
        let wakes = self.listings.keep(SLICES, wakes);
        self.ask(wakes, now);
    }

    /// Asks for a look at keys. Those who ask for what was asked for already are not counted, as in other work queues.
    fn ask(&mut self, wakes: impl IntoIterator<Item = (Key, Duration)>, now: Instant) {
        for (key, delay) in wakes {
            if self.queue.add(key, delay, now) {
                self.metrics.queue.added(delay);
            }
        }
    }

    /// Whether everything that is watched has been listed: before that, nothing is decided (I11).
    pub(crate) fn is_synced(&self) -> bool {
        self.listings.all_complete()
    }

    /// Every key is to be looked at.
    pub(crate) fn look_at_all(&mut self, now: Instant) {
        let keys = self.controller.keys();
        self.ask(keys.into_iter().map(|key| (key, Duration::ZERO)), now);
    }

    /// When there will be something to do, even if nothing happens.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.queue
            .next_deadline()
            .filter(|_| self.is_synced() && self.has_room())
    }

    /// Whether one more key may be written. If not, nothing can be done before a writer says something.
    fn has_room(&self) -> bool {
        self.in_flight.len() < self.settings.concurrency.get()
    }

    /// Whether nothing is being written.
    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Looks at keys that are due, at so many at most, and at none when enough is being written.
    pub(crate) fn work(&mut self, most: usize, now: Instant, time: Timestamp) -> Work {
        let mut work = Work::default();
        if !self.is_synced() {
            return work;
        }
        // Half a list is no news, and what is gone is known only at its end.
        if !self.listings.any_open() {
            self.controller.settle(&mut self.wakes);
            let wakes: Vec<_> = self.wakes.drain().collect();
            self.ask(wakes, now);
        }
        for _ in 0..most {
            if !self.has_room() {
                break;
            }
            let Some(due) = self.queue.next(now) else { break };
            self.look_at(due, now, time, &mut work);
        }
        self.metrics.queue.depth(self.queue.depth());
        work.more = self.has_room() && self.queue.depth() > 0;
        work
    }

    fn look_at(&mut self, due: Due, now: Instant, time: Timestamp, work: &mut Work) {
        let key = due.key.clone();
        let context = SyncContext {
            existing: self.slices.of(&key),
            taken: self.slices.taken(&key),
            now: time,
        };
        let decided = self.controller.sync(&key, &context);
        self.metrics.apply(self.controller.take_measurements());
        self.metrics.queue.taken(now.saturating_duration_since(due.since));
        let mut flight = InFlight::new(due, now);
        match decided {
            Ok(Sync { plan, events, again }) => {
                work.events.extend(events);
                flight.again = again;
                if self.settings.dry_run {
                    log_plan(&key, &plan.writes);
                } else if !plan.writes.is_empty() {
                    flight.begin(&plan.writes, &mut self.slices);
                    self.in_flight.insert(key.clone(), flight);
                    work.jobs.push(Job {
                        key,
                        writes: plan.writes,
                    });
                    return;
                }
            }
            Err(error) => flight.outcome.failures.push(Failure::Sync(error)),
        }
        self.settle(&key, flight, now, &mut work.events);
    }

    /// A write was answered, or withheld.
    pub(crate) fn answered(&mut self, key: &Key, write: usize, answer: Answer) {
        if let Some(flight) = self.in_flight.get_mut(key) {
            let is_ours = |slice: &EndpointSlice| {
                let labels = slice.metadata.labels.as_ref();
                labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)) == Some(&self.settings.managed_by)
            };
            flight.answered(write, answer, &mut self.slices, self.controller.interner(), is_ours);
        }
    }

    /// All writes of a key have been answered or withheld.
    pub(crate) fn finished(&mut self, key: &Key, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(mut flight) = self.in_flight.remove(key) {
            flight.end(&mut self.slices);
            if self.slices.finish(key) {
                self.ask([(key.clone(), self.settings.slice_delay)], now);
            }
            self.settle(key, flight, now, &mut events);
        }
        events
    }

    /// Draws the conclusions from a look at a key.
    fn settle(&mut self, key: &Key, flight: InFlight, now: Instant, events: &mut Vec<Event>) {
        let ended = flight.ended();
        let InFlight {
            mut outcome,
            again,
            since,
            started,
            ..
        } = flight;
        outcome.took = now.saturating_duration_since(started);
        self.controller.finished(key, &outcome);
        self.metrics.apply(self.controller.take_measurements());
        self.queue.done(key, ended, now);
        if let Some(again) = again.filter(|_| outcome.is_success()) {
            self.ask([(key.clone(), again)], now);
        }
        self.metrics.queue.finished(outcome.took, outcome.is_success());
        if outcome.is_success() && outcome.writes.any() {
            self.metrics.written(now.saturating_duration_since(since));
        }
        log_outcome(key, &outcome);
        if self.queue.failures(key) >= LASTING {
            events.extend(self.controller.failure_event(key, &outcome.failures));
        }
    }

    /// Updates what can only be told by looking.
    pub(crate) fn measure(&self, now: Instant) {
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

fn log_outcome(key: &Key, outcome: &Outcome) {
    let writes = outcome.writes;
    if writes.any() {
        tracing::info!(%key, created = writes.created, updated = writes.updated, deleted = writes.deleted, "slices written");
    }
    for failure in &outcome.failures {
        tracing::warn!(%key, %failure, "a sync failed and will be tried again");
    }
}
