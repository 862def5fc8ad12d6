//! The connections of a server: a record of them, and faults that concern a whole connection.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures::task::AtomicWaker;
use http::Version;
use tokio::{sync::Notify, time::Instant};

/// The number of a connection, counted from 0 in the order of arrival. It is an extension of every request, and part of
/// every [`Recorded`](crate::faults::Recorded) request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionNumber(pub usize);

/// A connection since the start of the server.
#[derive(Clone, Debug)]
pub struct OpenedConnection {
    /// Its number.
    pub number: ConnectionNumber,
    /// When it was accepted.
    pub at: Instant,
    /// The version of its first request; `None` before that.
    pub version: Option<Version>,
    /// Whether it is still open.
    pub is_open: bool,
}

/// The connections of an [`HttpServer`](super::HttpServer). Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<Mutex<Vec<Entry>>>);

#[derive(Debug)]
struct Entry {
    at: Instant,
    version: Option<Version>,
    /// Gone with the connection.
    control: Weak<Control>,
}

impl Connections {
    /// All connections since the start of the server, oldest first.
    #[must_use]
    pub fn opened(&self) -> Vec<OpenedConnection> {
        let entries = self.entries();
        let opened = entries.iter().enumerate().map(|(number, entry)| OpenedConnection {
            number: ConnectionNumber(number),
            at: entry.at,
            version: entry.version,
            is_open: entry.control.strong_count() > 0,
        });
        opened.collect()
    }

    /// Freezes the connections that are open now: no byte and no FIN passes in either direction. New ones are served.
    /// Returns their number.
    pub fn freeze_all(&self) -> usize {
        self.for_each_open(Control::freeze)
    }

    /// Freezes one connection; returns whether it is open.
    #[expect(clippy::must_use_candidate, reason = "the connection is frozen without the result")]
    pub fn freeze(&self, number: ConnectionNumber) -> bool {
        let entries = self.entries();
        let control = entries.get(number.0).and_then(|entry| entry.control.upgrade());
        control.inspect(|control| control.freeze()).is_some()
    }

    /// Resumes all frozen connections.
    pub fn thaw_all(&self) {
        self.for_each_open(Control::thaw);
    }

    /// Ends all open connections gracefully: GOAWAY in HTTP/2, `Connection: close` in HTTP/1.1. Requests in progress,
    /// watches included, continue.
    pub fn drain_all(&self) {
        self.for_each_open(|control| control.drain.notify_one());
    }

    /// Closes all open connections at once.
    pub fn close_all(&self) {
        self.for_each_open(|control| control.close.notify_one());
    }

    /// Registers a new connection.
    pub(super) fn open(&self) -> (ConnectionNumber, Arc<Control>) {
        let control = Arc::new(Control::default());
        let mut entries = self.entries();
        entries.push(Entry {
            at: Instant::now(),
            version: None,
            control: Arc::downgrade(&control),
        });
        (ConnectionNumber(entries.len() - 1), control)
    }

    pub(super) fn record_version(&self, number: ConnectionNumber, version: Version) {
        if let Some(entry) = self.entries().get_mut(number.0) {
            entry.version.get_or_insert(version);
        }
    }

    fn for_each_open(&self, action: impl Fn(&Control)) -> usize {
        let entries = self.entries();
        let open = entries.iter().filter_map(|entry| entry.control.upgrade());
        open.inspect(|control| action(control)).count()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        // A poisoned lock is ignored: no method leaves the entries inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Signals to the task of a connection.
#[derive(Debug, Default)]
pub(super) struct Control {
    is_frozen: AtomicBool,
    /// One task reads and writes a connection.
    thawed: AtomicWaker,
    drain: Notify,
    close: Notify,
}

impl Control {
    fn freeze(&self) {
        self.is_frozen.store(true, Ordering::SeqCst);
    }

    fn thaw(&self) {
        self.is_frozen.store(false, Ordering::SeqCst);
        self.thawed.wake();
    }

    /// Ready while the connection is not frozen.
    pub(super) fn poll_thawed(&self, cx: &Context<'_>) -> Poll<()> {
        let is_thawed = || !self.is_frozen.load(Ordering::SeqCst);
        if is_thawed() {
            return Poll::Ready(());
        }
        self.thawed.register(cx.waker());
        // It may have been thawed before the waker was registered.
        if is_thawed() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Waits for [`Connections::drain_all`].
    pub(super) async fn drained(&self) {
        self.drain.notified().await;
    }

    /// Waits for [`Connections::close_all`].
    pub(super) async fn closed(&self) {
        self.close.notified().await;
    }
}
