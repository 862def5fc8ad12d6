//! The event recorder behind a filter and a bounded channel, so that no sync waits for it and no object floods it.

mod filter;
mod recorder;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use k8s_openapi::api::core::v1::ObjectReference;
use slice_controller::{ErrorChain, Event, EventSpec};
use tokio::sync::mpsc;

use crate::{
    client::ApiClient, escape::Escaped, failure_log::LogInterval, leader_election::LEADER_ELECTION, metrics::Metrics,
    watch::UNDECODABLE_OBJECT,
};
pub(crate) use filter::DropReason;
use filter::{Decision, EventFilter};
use recorder::Recorder;

/// Events in the channel to the recorder; further events are dropped.
const EVENT_CHANNEL_CAPACITY: usize = 256;

/// The events that the runtime records besides those of a controller, for reference documentation.
#[must_use]
pub fn runtime_events() -> [&'static EventSpec; 2] {
    [&UNDECODABLE_OBJECT, &LEADER_ELECTION]
}

/// The sender of events to the recorder. It never blocks: it drops events that the filter rejects or the channel cannot hold.
pub(crate) struct Events {
    /// None in a dry run.
    sender: Option<mpsc::Sender<Event>>,
    shared: Arc<Mutex<SharedFilter>>,
}

impl Events {
    /// The sender, and the task of the recorder.
    pub(crate) fn new(api: ApiClient, source: &'static str, metrics: Arc<Metrics>) -> (Self, impl Future<Output = ()>) {
        let (sender, mut events) = mpsc::channel::<Event>(EVENT_CHANNEL_CAPACITY);
        let shared = SharedFilter::new(metrics);
        let of_recorder = Arc::clone(&shared);
        let recorder = async move {
            let mut recorder = Recorder::new(api, source);
            while let Some(event) = events.recv().await {
                wait_until_admitted(&of_recorder).await;
                if let Err(error) = recorder.record(&event).await {
                    let mut shared = lock(&of_recorder);
                    shared.filter.forget(&event);
                    shared.on_dropped(&event, DropReason::Request, ErrorChain(&error), now());
                }
            }
        };
        let sender = Some(sender);
        (Self { sender, shared }, recorder)
    }

    /// No event is sent before this time: the API server rejects requests.
    pub(crate) fn hold_until(&self, admitted_at: Option<Instant>) {
        lock(&self.shared).admitted_at = admitted_at;
    }

    /// A sender that logs events instead of recording them.
    pub(crate) fn dry_run(metrics: Arc<Metrics>) -> Self {
        let shared = SharedFilter::new(metrics);
        Self { sender: None, shared }
    }

    pub(crate) fn record(&self, events: Vec<Event>) {
        let mut shared = lock(&self.shared);
        for mut event in events {
            event.truncate_message();
            let permit = self.sender.as_ref().map(mpsc::Sender::try_reserve);
            let has_capacity = !matches!(permit, Some(Err(_)));
            match (shared.filter.admit(&event, has_capacity, now()), permit) {
                (Decision::Record, Some(Ok(permit))) => permit.send(event),
                (Decision::Record, _) => {
                    let regarding = Regarding(&event.regarding);
                    tracing::info!(%regarding, reason = &*event.reason, event = event.message, "dry run: would record event");
                }
                (Decision::Repeated, _) => {}
                (Decision::Drop(reason), _) => shared.on_dropped(&event, reason, reason.as_str(), now()),
            }
        }
    }
}

/// Waits while requests are held back.
async fn wait_until_admitted(shared: &Mutex<SharedFilter>) {
    loop {
        let admitted_at = lock(shared).admitted_at.filter(|at| *at > now());
        let Some(admitted_at) = admitted_at else { return };
        tokio::time::sleep_until(admitted_at.into()).await;
    }
}

/// The filter, and the numbers of dropped events. Recorder and sender share it.
struct SharedFilter {
    filter: EventFilter,
    /// When events may be sent again.
    admitted_at: Option<Instant>,
    metrics: Arc<Metrics>,
    log: LogInterval,
}

impl SharedFilter {
    fn new(metrics: Arc<Metrics>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            filter: EventFilter::new(),
            admitted_at: None,
            metrics,
            log: LogInterval::default(),
        }))
    }

    /// Counts and logs a dropped event.
    fn on_dropped(&mut self, event: &Event, reason: DropReason, cause: impl fmt::Display, now: Instant) {
        self.metrics.event_dropped(reason);
        if let Some(dropped) = self.log.count(now) {
            tracing::warn!(
                dropped,
                regarding = %Regarding(&event.regarding),
                reason = &*event.reason,
                event = event.message,
                cause = %Escaped(cause),
                "events dropped, this one last; the metric events_dropped_total counts them by cause"
            );
        }
    }
}

/// The filter stays valid if another thread panics while it holds the lock.
fn lock(shared: &Mutex<SharedFilter>) -> MutexGuard<'_, SharedFilter> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Displays the object of an event, escaped.
struct Regarding<'a>(&'a ObjectReference);

impl fmt::Display for Regarding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, namespace, name] =
            [&self.0.kind, &self.0.namespace, &self.0.name].map(|field| Escaped(field.as_deref().unwrap_or_default()));
        write!(f, "{kind} {namespace}/{name}")
    }
}
