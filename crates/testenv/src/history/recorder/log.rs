//! What the streams write and everybody else reads.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::RecordError;
use crate::history::object::Object;
use crate::history::record::{Entry, Event, History, Verb};

/// A history in the making.
pub(super) struct Log {
    kept: Mutex<Kept>,
    /// Says that something was added.
    news: watch::Sender<()>,
}

struct Kept {
    history: History,
    /// The last revision that was seen of each object, by kind and uid, and whether it is still there.
    seen: BTreeMap<(&'static str, String), (u64, bool)>,
    last_slice_event: Instant,
    failure: Option<Failure>,
    audience: Vec<mpsc::UnboundedSender<Event>>,
}

/// Why the history is not whole.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: String,
    pub(super) after: String,
    pub(super) reason: String,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            kept: Mutex::new(Kept {
                history: History::default(),
                seen: BTreeMap::new(),
                last_slice_event: Instant::now(),
                failure: None,
                audience: Vec::new(),
            }),
            news: watch::Sender::default(),
        }
    }
}

impl Log {
    /// Writes down what was seen of an object.
    pub(super) fn observe(&self, verb: Verb, object: impl Into<Object>) -> Result<(), RecordError> {
        let mut object = object.into();
        // Who manages which field is a third of the object and says nothing here.
        object.metadata_mut().managed_fields = None;
        let event = Event::new(Timestamp::now(), verb, object)?;
        let key = (
            event.object().kind(),
            event.object().metadata().uid.clone().unwrap_or_default(),
        );
        {
            let mut kept = self.kept();
            kept.seen.insert(key, (event.revision(), verb != Verb::Deleted));
            if matches!(event.object(), Object::EndpointSlice(_)) {
                kept.last_slice_event = Instant::now();
            }
            // Who no longer listens is forgotten.
            kept.audience.retain(|audience| audience.send(event.clone()).is_ok());
            kept.history.push(Entry::Event(Box::new(event)));
        }
        self.news.send_replace(());
        Ok(())
    }

    pub(super) fn push(&self, entry: Entry) {
        self.kept().history.push(entry);
    }

    /// Notes that there is a hole. The first one is enough.
    pub(super) fn fail(&self, failure: Failure) {
        self.kept().failure.get_or_insert(failure);
        self.news.send_replace(());
    }

    /// The history, unless there is a hole in it.
    pub(super) fn history(&self) -> Result<History, RecordError> {
        let kept = self.kept();
        whole(&kept)?;
        Ok(kept.history.clone())
    }

    /// All events: those so far, then each as it is seen.
    pub(super) fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        let (tell, told) = mpsc::unbounded_channel();
        let mut kept = self.kept();
        // Nobody can have stopped listening yet.
        kept.history.events().cloned().for_each(|event| drop(tell.send(event)));
        kept.audience.push(tell);
        told
    }

    /// An error if there is a hole.
    pub(super) fn whole(&self) -> Result<(), RecordError> {
        whole(&self.kept())
    }

    pub(super) fn last_slice_event(&self) -> Instant {
        self.kept().last_slice_event
    }

    /// Resolves when something is added after this call.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Whether everything was seen of a kind that a list of some revision shows: its objects, by uid, in these revisions
    /// or later ones, and the end of all others.
    pub(super) fn has_seen(&self, kind: &'static str, listed: &BTreeMap<String, u64>, revision: u64) -> bool {
        let kept = self.kept();
        let is_seen = |(uid, at): (&String, &u64)| {
            let seen = kept.seen.get(&(kind, uid.clone()));
            seen.is_some_and(|(seen, _)| seen >= at)
        };
        let first = (kind, String::new());
        let of_kind = kept.seen.range(first..).take_while(|((of, _), _)| *of == kind);
        let mut there = of_kind.filter(|(_, (seen, is_there))| *is_there && *seen <= revision);
        listed.iter().all(is_seen) && there.all(|((_, uid), _)| listed.contains_key(uid))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn whole(kept: &Kept) -> Result<(), RecordError> {
    match kept.failure.clone() {
        Some(Failure { kind, after, reason }) => Err(RecordError::Lost { kind, after, reason }),
        None => Ok(()),
    }
}
