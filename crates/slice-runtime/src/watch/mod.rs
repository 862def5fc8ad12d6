//! The reflector: lists and watches one resource for as long as the program runs, and emits its events.
//!
//! * `session/` sends the requests, `read.rs` reads their responses and emits the events.
//! * `resume/` is the state between requests, and decides what the next one is.
//! * `epoch.rs` detects resourceVersions that went back.
//! * `catch_up.rs` is about terms of leadership.
//! * `frames/` decodes responses.

mod catch_up;
mod epoch;
mod frames;
mod list_watch;
mod read;
mod resume;
mod session;
mod stream_end;
#[cfg(test)]
mod tests;
mod timeouts;
mod undecodable;

use std::{sync::Arc, time::Duration};

use slice_controller::{Decoded, ObjectRef, WatchSpec};
use tokio::sync::mpsc;

use crate::{
    client::{ApiClient, RequestError},
    event_channel::EventSender,
    events::Events,
    health::WatchHealth,
    leader_election::Leadership,
    metrics::Metrics,
};
#[cfg(feature = "simulation")]
pub(crate) use catch_up::CatchUp;
use epoch::ConsistentRead;
use frames::decode_read;
pub(crate) use list_watch::ListWatch;
pub(crate) use resume::ListReason;
use session::Session;
pub(crate) use timeouts::WatchTimeouts;
pub(crate) use undecodable::UNDECODABLE_OBJECT;

/// Reads the current resourceVersion of a resource, from which it can be watched, and this object if given.
async fn consistent_read(
    api: &ApiClient,
    list_watch: &ListWatch,
    object: Option<&ObjectRef>,
) -> Result<ConsistentRead, RequestError> {
    let list = api.call(list_watch.probe(object)).await?;
    decode_read(&list).map_err(RequestError::transport)
}

/// Events of a reflector. An initial list or a relist is the sequence `Init`, `Apply` or `Undecodable`…, `InitDone`; objects
/// missing from it were deleted.
#[derive(Debug)]
pub(crate) enum WatchEvent<O> {
    /// resourceVersions went back: later versions are not comparable with earlier ones. A list follows.
    NewEpoch,
    /// A list starts.
    Init,
    /// An object was created or updated, or is part of a list.
    Apply(Decoded<O>),
    /// An object exists, but this version of it cannot be decoded. An earlier version stays in use.
    Undecodable(ObjectRef),
    /// An object was deleted.
    Delete(ObjectRef),
    /// The list is complete.
    InitDone {
        /// The resourceVersion of the list.
        version: Box<str>,
    },
    /// The list failed before it was complete. The objects emitted so far are valid.
    InitFailed,
    /// The API server lacks the resource, which is optional. Known objects stay known.
    Absent,
    /// All events were emitted up to a version that was read after this term of leadership began.
    CaughtUp {
        /// The number of the term.
        term: u64,
    },
    /// The API server rejected a list or a watch because it is overloaded.
    Overloaded {
        /// Its `Retry-After`.
        retry_after: Option<Duration>,
    },
}

impl<O> WatchEvent<O> {
    /// The resourceVersion of the object in the event.
    pub(crate) fn resource_version(&self) -> Option<&str> {
        let object = match self {
            Self::Apply(decoded) => &decoded.object_ref,
            Self::Undecodable(object) | Self::Delete(object) => object,
            Self::NewEpoch
            | Self::Init
            | Self::InitDone { .. }
            | Self::InitFailed
            | Self::Absent
            | Self::CaughtUp { .. }
            | Self::Overloaded { .. } => return None,
        };
        Some(&*object.resource_version).filter(|version| !version.is_empty())
    }
}

/// A relist lacked so many objects that a second one has to confirm it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfirmationRequest {
    /// The delay before the second list.
    pub(crate) delay: Duration,
    /// What the first list lacked, for `/readyz?verbose`.
    pub(crate) message: String,
}

/// Lists and watches one resource.
pub(crate) struct Reflector<W, O> {
    pub(crate) api: ApiClient,
    /// The client for lists that confirm another one. It should use connections of its own, since the connections of `api` may
    /// all lead to one API server with a wrong view.
    pub(crate) confirmation_api: ApiClient,
    pub(crate) spec: WatchSpec<W, O>,
    /// The namespace to watch; all if empty.
    pub(crate) namespace: String,
    pub(crate) health: Arc<WatchHealth>,
    pub(crate) metrics: Arc<Metrics>,
    /// Of undecodable objects.
    pub(crate) events: Arc<Events>,
    /// The timeouts by HTTP/1.1.
    pub(crate) timeouts: WatchTimeouts,
    /// The channel to the engine.
    pub(crate) sender: EventSender<(usize, WatchEvent<O>)>,
    /// The index of the watch among those of the controller, sent with each event.
    pub(crate) index: usize,
    /// If there is leader election: each term needs a view that is not older than its beginning.
    pub(crate) leadership: Option<Leadership>,
}

impl<W, O> Reflector<W, O> {
    /// Runs until the engine drops the channel. `confirmations` are requests of the engine.
    pub(crate) async fn run(self, confirmations: mpsc::Receiver<ConfirmationRequest>) {
        Session::new(self, confirmations).run().await;
    }
}
