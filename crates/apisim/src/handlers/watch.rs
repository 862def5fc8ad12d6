//! GET with `watch=true`: a stream of watch events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{Call, options, read};
use crate::{
    body::{BoxError, boxed},
    object::Object,
    representation::{self, Negotiated, Representation},
    response::{self, Response},
    selectors::Selector,
    server::Server,
    status::ApiError,
    store::{Action, Change, Store, codec_error},
};

/// Maximum number of changes that a watch reads from the history at once.
const BATCH: usize = 64;
/// Time between the last bookmark and the end of a watch.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Minimum duration of a watch without `timeoutSeconds`. The actual duration is random, up to twice this value.
const DEFAULT_TIMEOUT_SECONDS: u64 = 1_800;

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let selector = Selector::parse(call.resource, call.request.namespace.as_deref(), &call.query)?;
    let options = WatchOptions::parse(call)?;
    let watcher = Watcher::start(call, selector, &options);
    let events = futures::stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<_, BoxError>(Frame::data(event)), watcher))
    });
    Ok(response::typed(200, "application/json", boxed(StreamBody::new(events))))
}

struct WatchOptions {
    version: u64,
    /// Whether existing objects are sent first, as ADDED events.
    initial_events: bool,
    bookmarks: bool,
    timeout: Duration,
}

impl WatchOptions {
    fn parse(call: &Call<'_>) -> Result<Self, ApiError> {
        let query = &call.query;
        let version = query.get("resourceVersion").unwrap_or_default();
        let version_match = query.get("resourceVersionMatch").unwrap_or_default();
        let field = "resourceVersionMatch";
        if query.get("continue").is_some_and(|token| !token.is_empty()) {
            return Err(read::forbidden_option(field, "cannot go with continue"));
        }
        let initial_events = match (query.get("sendInitialEvents"), version_match) {
            (Some(_), "NotOlderThan") => query.flag("sendInitialEvents"),
            (Some(_), _) => {
                let detail = "must be NotOlderThan with sendInitialEvents";
                return Err(read::forbidden_option(field, detail));
            }
            (None, "") => matches!(version, "" | "0"),
            (None, _) => {
                let detail = "means nothing to a watch without sendInitialEvents";
                return Err(read::forbidden_option(field, detail));
            }
        };
        let seconds = options::number(query, "timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let default_timeout = || DEFAULT_TIMEOUT_SECONDS + fastrand::u64(..DEFAULT_TIMEOUT_SECONDS);
        Ok(Self {
            version: read::parse_version(version).map_err(ApiError::internal)?,
            initial_events,
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout: Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or_else(default_timeout)),
        })
    }
}

/// One watch: reads the history and encodes the events.
struct Watcher {
    server: Arc<Server>,
    negotiated: Negotiated,
    selector: Selector,
    /// Notifies about new changes.
    notifications: watch::Receiver<u64>,
    /// The revision up to which the history has been read.
    position: u64,
    /// Initial objects that have not been sent yet.
    initial: VecDeque<Arc<Object>>,
    /// The revision of the initial-events-end bookmark, until it is sent.
    initial_end: Option<u64>,
    changes: VecDeque<Arc<Change>>,
    /// The ERROR event that ends the watch.
    error: Option<ApiError>,
    bookmark_at: Option<Instant>,
    deadline: Instant,
    /// Whether no event has been sent yet.
    first: bool,
}

impl Watcher {
    fn start(call: &Call<'_>, selector: Selector, options: &WatchOptions) -> Self {
        let now = Instant::now();
        let store = call.store();
        let table = call.resource.table;
        let mut watcher = Self {
            server: call.server.clone(),
            negotiated: call.negotiated,
            selector,
            notifications: store.subscribe(table),
            position: options.version,
            initial: VecDeque::new(),
            initial_end: None,
            changes: VecDeque::new(),
            error: None,
            bookmark_at: None,
            deadline: now + options.timeout,
            first: true,
        };
        if options.bookmarks {
            watcher.bookmark_at = watcher.next_bookmark(now);
        }
        watcher.seek(&store, options);
        watcher
    }

    /// Sets the start position in the history.
    fn seek(&mut self, store: &Store, options: &WatchOptions) {
        let table = self.negotiated.resource.table;
        if options.initial_events {
            if options.version > store.revision {
                self.error = Some(ApiError::too_large_version(options.version, store.revision));
                return;
            }
            let objects = store.snapshot(table, &self.selector.key_prefix(), store.revision);
            self.initial = objects
                .into_iter()
                .filter(|object| self.selector.matches(object))
                .collect();
            self.initial_end = options.bookmarks.then_some(store.revision);
            self.position = store.revision;
        } else if options.version == 0 {
            self.position = store.revision;
        } else if options.version < store.oldest_revision(table) {
            self.error = Some(too_old(options.version, store.oldest_revision(table)));
        }
    }

    /// The next encoded event; `None` at the end of the watch.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.next_pending() {
                return Some(event.unwrap_or_else(|error| error_event(&codec_error(error))));
            }
            if Instant::now() >= self.deadline {
                return None;
            }
            if self.read_changes() {
                continue;
            }
            if self.bookmark_at.is_some_and(|at| at <= Instant::now()) {
                self.bookmark_at = self.next_bookmark(Instant::now());
                // As kube-apiserver: a watch from a future resourceVersion gets no bookmark.
                if self.server.store().revision < self.position {
                    continue;
                }
                let event = self.negotiated.bookmark(self.position, false);
                return Some(event.unwrap_or_else(|error| error_event(&codec_error(error))));
            }
            let timeout_at = self.bookmark_at.map_or(self.deadline, |at| at.min(self.deadline));
            tokio::select! {
                changed = self.notifications.changed() => changed.ok()?,
                () = sleep_until(timeout_at) => {}
            }
        }
    }

    /// The next event that does not need the store.
    fn next_pending(&mut self) -> Option<serde_json::Result<Bytes>> {
        if let Some(object) = self.initial.pop_front() {
            let first = std::mem::take(&mut self.first);
            return Some(self.negotiated.watch_event("ADDED", &object, first));
        }
        if let Some(revision) = self.initial_end.take() {
            return Some(self.negotiated.bookmark(revision, true));
        }
        while let Some(change) = self.changes.pop_front() {
            if let Some(event) = self.encode(&change) {
                self.first = false;
                return Some(event);
            }
        }
        let error = self.error.take()?;
        self.deadline = Instant::now();
        Some(representation::encode_watch_event("ERROR", &error.0))
    }

    /// Reads the next changes from the history; false if there are none.
    fn read_changes(&mut self) -> bool {
        // Mark the notification as seen before reading the store, so that a change in between notifies again.
        self.notifications.borrow_and_update();
        let table = self.negotiated.resource.table;
        let store = self.server.store();
        match store.changes_after(table, self.position, BATCH) {
            None => self.error = Some(too_old(self.position, store.oldest_revision(table))),
            Some(changes) => {
                let last = changes.last().map(|change| change.revision);
                // After a partial batch the history has been read up to the current revision.
                let reached = if changes.len() < BATCH {
                    Some(store.revision)
                } else {
                    last
                };
                self.position = self.position.max(reached.unwrap_or_default());
                self.changes = changes.into();
            }
        }
        self.error.is_some() || !self.changes.is_empty()
    }

    /// Encodes a change as an event of the selection: an object that enters is ADDED, one that leaves is DELETED.
    fn encode(&self, change: &Change) -> Option<serde_json::Result<Bytes>> {
        let matches = |object: &Object| self.selector.matches(object);
        let before = change.previous.as_deref().is_some_and(matches);
        let after = change.action != Action::Deleted && matches(&change.object);
        let event = match (before, after) {
            (false, false) => return None,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        if event == "DELETED" && change.action != Action::Deleted {
            // The object left the selection: send its previous state.
            let left = change.previous.as_ref()?.with_revision(change.revision);
            return Some(left.and_then(|object| self.negotiated.watch_event(event, &object, self.first)));
        }
        if event != change.action.event() || !self.shares_encoding() {
            return Some(self.negotiated.watch_event(event, &change.object, self.first));
        }
        if let Some(encoded) = change.encoded.get() {
            return Some(Ok(encoded.clone()));
        }
        let encoded = self.negotiated.watch_event(event, &change.object, self.first);
        Some(encoded.map(|encoded| change.encoded.get_or_init(|| encoded).clone()))
    }

    /// Whether this watch uses the full representation of the storage kind, so that encoded events can be shared.
    fn shares_encoding(&self) -> bool {
        self.negotiated.representation == Representation::Full && self.negotiated.resource.codec.view.is_none()
    }

    /// The time of the next bookmark: after the bookmark interval, or [`LAST_BOOKMARK`] before the end.
    fn next_bookmark(&self, now: Instant) -> Option<Instant> {
        let last = self.deadline.checked_sub(LAST_BOOKMARK)?;
        (now < last).then(|| last.min(now + self.server.config.bookmark_interval))
    }
}

impl Action {
    fn event(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

fn too_old(requested: u64, oldest: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {requested} ({oldest})"))
}

fn error_event(error: &ApiError) -> Bytes {
    representation::encode_watch_event("ERROR", &error.0).unwrap_or_default()
}
