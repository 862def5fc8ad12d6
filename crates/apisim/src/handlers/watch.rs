//! GET with `watch=true`: a stream of changes.

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
    answer::{self, Response},
    body::{BoxError, boxed},
    object::Object,
    present::{self, Form, Presentation},
    selectors::Selector,
    server::Server,
    status::ApiError,
    store::{Action, Change, Store, unreadable},
};

/// How many changes a watcher takes out of the history at once.
const BATCH: usize = 64;
/// How long before the end of a watch the last bookmark comes.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a watch lasts that does not say, at least; at most twice as long.
const UNLIMITED_SECONDS: u64 = 1_800;

pub(super) fn handle(call: &Call<'_>) -> Result<Response, ApiError> {
    let selector = Selector::parse(call.resource, call.request.namespace.as_deref(), &call.query)?;
    let options = WatchOptions::parse(call)?;
    let watcher = Watcher::start(call, selector, &options);
    let lines = futures::stream::unfold(watcher, |mut watcher| async move {
        let line = watcher.next().await?;
        Some((Ok::<_, BoxError>(Frame::data(line)), watcher))
    });
    Ok(answer::typed(200, "application/json", boxed(StreamBody::new(lines))))
}

struct WatchOptions {
    version: u64,
    /// Whether what is there comes first.
    initial_events: bool,
    bookmarks: bool,
    timeout: Duration,
}

impl WatchOptions {
    fn parse(call: &Call<'_>) -> Result<Self, ApiError> {
        let query = &call.query;
        let version = query.get("resourceVersion").unwrap_or_default();
        let rule = query.get("resourceVersionMatch").unwrap_or_default();
        let field = "resourceVersionMatch";
        if query.get("continue").is_some_and(|token| !token.is_empty()) {
            return Err(read::forbidden(field, "cannot go with continue"));
        }
        let initial_events = match (query.get("sendInitialEvents"), rule) {
            (Some(_), "NotOlderThan") => query.flag("sendInitialEvents"),
            (Some(_), _) => {
                let why = "must be NotOlderThan with sendInitialEvents";
                return Err(read::forbidden(field, why));
            }
            (None, "") => matches!(version, "" | "0"),
            (None, _) => {
                let why = "means nothing to a watch without sendInitialEvents";
                return Err(read::forbidden(field, why));
            }
        };
        let seconds = options::number(query, "timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let unlimited = || UNLIMITED_SECONDS + fastrand::u64(..UNLIMITED_SECONDS);
        Ok(Self {
            version: read::parse_version(version).map_err(ApiError::internal)?,
            initial_events,
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout: Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or_else(unlimited)),
        })
    }
}

/// One reader of the history.
struct Watcher {
    server: Arc<Server>,
    presentation: Presentation,
    selector: Selector,
    news: watch::Receiver<u64>,
    /// Everything up to here has been taken out of the history.
    position: u64,
    /// What was there at the start and has not been shown yet.
    initial: VecDeque<Arc<Object>>,
    /// The version at which the initial events end, if that is still to be said.
    initial_end: Option<u64>,
    changes: VecDeque<Arc<Change>>,
    /// The last thing to say.
    refusal: Option<ApiError>,
    bookmark_at: Option<Instant>,
    deadline: Instant,
    first: bool,
}

impl Watcher {
    fn start(call: &Call<'_>, selector: Selector, options: &WatchOptions) -> Self {
        let now = Instant::now();
        let store = call.store();
        let table = call.resource.table;
        let mut watcher = Self {
            server: call.server.clone(),
            presentation: call.presentation,
            selector,
            news: store.subscribe(table),
            position: options.version,
            initial: VecDeque::new(),
            initial_end: None,
            changes: VecDeque::new(),
            refusal: None,
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

    /// Finds where in the history to begin.
    fn seek(&mut self, store: &Store, options: &WatchOptions) {
        let table = self.presentation.resource.table;
        if options.initial_events {
            if options.version > store.revision {
                self.refusal = Some(ApiError::too_large_version(options.version, store.revision));
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
        } else if options.version < store.oldest(table) {
            self.refusal = Some(too_old(options.version, store.oldest(table)));
        }
    }

    /// The next line; `None` is the end of the watch.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.ready() {
                return Some(line.unwrap_or_else(|error| refusal_line(&unreadable(error))));
            }
            if Instant::now() >= self.deadline {
                return None;
            }
            if self.fetch() {
                continue;
            }
            if self.bookmark_at.is_some_and(|at| at <= Instant::now()) {
                self.bookmark_at = self.next_bookmark(Instant::now());
                let line = self.presentation.bookmark(self.position, false);
                return Some(line.unwrap_or_else(|error| refusal_line(&unreadable(error))));
            }
            let wake_at = self.bookmark_at.map_or(self.deadline, |at| at.min(self.deadline));
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = sleep_until(wake_at) => {}
            }
        }
    }

    /// What can be said without looking into the store.
    fn ready(&mut self) -> Option<serde_json::Result<Bytes>> {
        if let Some(object) = self.initial.pop_front() {
            let first = std::mem::take(&mut self.first);
            return Some(self.presentation.line("ADDED", &object, first));
        }
        if let Some(revision) = self.initial_end.take() {
            return Some(self.presentation.bookmark(revision, true));
        }
        while let Some(change) = self.changes.pop_front() {
            if let Some(line) = self.line(&change) {
                self.first = false;
                return Some(line);
            }
        }
        let refusal = self.refusal.as_ref()?;
        let line = present::line("ERROR", &refusal.0);
        self.refusal = None;
        self.deadline = Instant::now();
        Some(line)
    }

    /// Takes the next changes out of the history; false if there are none.
    fn fetch(&mut self) -> bool {
        // Seen before the store is read, so that a change in between wakes the watcher again.
        self.news.borrow_and_update();
        let table = self.presentation.resource.table;
        let store = self.server.store();
        match store.changes_after(table, self.position, BATCH) {
            None => self.refusal = Some(too_old(self.position, store.oldest(table))),
            Some(changes) => {
                let last = changes.last().map(|change| change.revision);
                // With a whole batch there may be more; with less, everything up to now has been read.
                let reached = if changes.len() < BATCH {
                    Some(store.revision)
                } else {
                    last
                };
                self.position = self.position.max(reached.unwrap_or_default());
                self.changes = changes.into();
            }
        }
        self.refusal.is_some() || !self.changes.is_empty()
    }

    /// How a change looks to somebody who only sees the selected objects.
    fn line(&self, change: &Change) -> Option<serde_json::Result<Bytes>> {
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
            // It left the selection: it is shown as it was last seen.
            let left = change.previous.as_ref()?.at(change.revision);
            return Some(left.and_then(|object| self.presentation.line(event, &object, self.first)));
        }
        if event != change.action.event() || !self.is_shared() {
            return Some(self.presentation.line(event, &change.object, self.first));
        }
        if let Some(line) = change.line.get() {
            return Some(Ok(line.clone()));
        }
        let line = self.presentation.line(event, &change.object, self.first);
        Some(line.map(|line| change.line.get_or_init(|| line).clone()))
    }

    /// Whether this watcher sees objects as most do, so that lines can be shared.
    fn is_shared(&self) -> bool {
        self.presentation.form == Form::Whole && self.presentation.resource.codec.view.is_none()
    }

    /// After the usual silence, or shortly before the end; not in the last moments.
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

fn too_old(asked: u64, oldest: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {asked} ({oldest})"))
}

fn refusal_line(error: &ApiError) -> Bytes {
    present::line("ERROR", &error.0).unwrap_or_default()
}
