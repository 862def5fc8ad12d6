//! The shared log of a recorder: the watch tasks append, the recorder reads.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::RecordError;
use crate::history::{Entry, Event, History, Verb};
use crate::object::Object;

/// A history that is being recorded.
pub(super) struct Log {
    inner: Mutex<Inner>,
    /// Notifies waiting tasks of new entries.
    changed: watch::Sender<()>,
}

struct Inner {
    history: History,
    /// The last recorded revision of each object, by kind and uid, and whether the object exists.
    seen: BTreeMap<(&'static str, String), (u64, bool)>,
    last_slice_event: Instant,
    gap: Option<Gap>,
    subscribers: Vec<mpsc::UnboundedSender<Event>>,
}

/// A gap in the history: revisions that were not received.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub(super) kind: String,
    pub(super) after: String,
    pub(super) reason: String,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Inner {
                history: History::default(),
                seen: BTreeMap::new(),
                last_slice_event: Instant::now(),
                gap: None,
                subscribers: Vec::new(),
            }),
            changed: watch::Sender::default(),
        }
    }
}

impl Log {
    /// Records a revision of an object.
    pub(super) fn observe(&self, verb: Verb, object: impl Into<Object>) -> Result<(), RecordError> {
        let mut object = object.into();
        // `managedFields` is a third of the object, and no check reads it.
        object.metadata_mut().managed_fields = None;
        let event = Event::new(Timestamp::now(), verb, object)?;
        let key = (
            event.object().kind(),
            event.object().metadata().uid.clone().unwrap_or_default(),
        );
        {
            let mut inner = self.lock();
            inner.seen.insert(key, (event.revision(), verb != Verb::Deleted));
            if matches!(event.object(), Object::EndpointSlice(_)) {
                inner.last_slice_event = Instant::now();
            }
            // Closed subscribers are dropped.
            inner
                .subscribers
                .retain(|subscribers| subscribers.send(event.clone()).is_ok());
            inner.history.push(Entry::Event(Box::new(event)));
        }
        self.changed.send_replace(());
        Ok(())
    }

    pub(super) fn push(&self, entry: Entry) {
        self.lock().history.push(entry);
    }

    /// Records a gap. Only the first one is kept.
    pub(super) fn record_gap(&self, gap: Gap) {
        self.lock().gap.get_or_insert(gap);
        self.changed.send_replace(());
    }

    /// The history; an error if it has a gap.
    pub(super) fn history(&self) -> Result<History, RecordError> {
        let inner = self.lock();
        check_complete(&inner)?;
        Ok(inner.history.clone())
    }

    /// Subscribes to all events: the recorded ones, then new ones.
    pub(super) fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut inner = self.lock();
        // The receiver is still in scope, so that no send fails.
        inner
            .history
            .events()
            .cloned()
            .for_each(|event| drop(sender.send(event)));
        inner.subscribers.push(sender);
        receiver
    }

    /// Returns an error if the history has a gap.
    pub(super) fn check_complete(&self) -> Result<(), RecordError> {
        check_complete(&self.lock())
    }

    pub(super) fn last_slice_event(&self) -> Instant {
        self.lock().last_slice_event
    }

    /// A receiver that is notified of entries added after this call.
    pub(super) fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Whether the log has caught up with a list: it has each listed object, by uid, at the listed revision or later,
    /// and the deletion of all others.
    pub(super) fn has_seen(&self, kind: &'static str, listed: &BTreeMap<String, u64>, revision: u64) -> bool {
        let inner = self.lock();
        let is_seen = |(uid, at): (&String, &u64)| {
            let seen = inner.seen.get(&(kind, uid.clone()));
            seen.is_some_and(|(seen, _)| seen >= at)
        };
        let first = (kind, String::new());
        let of_kind = inner.seen.range(first..).take_while(|((of, _), _)| *of == kind);
        let mut existing = of_kind.filter(|(_, (seen, exists))| *exists && *seen <= revision);
        listed.iter().all(is_seen) && existing.all(|((_, uid), _)| listed.contains_key(uid))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_complete(inner: &Inner) -> Result<(), RecordError> {
    match inner.gap.clone() {
        Some(Gap { kind, after, reason }) => Err(RecordError::Lost { kind, after, reason }),
        None => Ok(()),
    }
}
