//! The health of a controller: the state of every watch.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The health of all watches.
#[derive(Debug, Default)]
pub struct Health {
    watches: Mutex<Vec<(&'static str, Arc<WatchHealth>)>>,
}

impl Health {
    /// Adds a watch by its name.
    pub(crate) fn add(&self, name: &'static str) -> Arc<WatchHealth> {
        let watch = Arc::new(WatchHealth::default());
        lock(&self.watches).push((name, Arc::clone(&watch)));
        watch
    }

    /// The state of each watch, by its name.
    #[must_use]
    pub fn watches(&self) -> Vec<(&'static str, WatchState)> {
        let watches = lock(&self.watches);
        watches
            .iter()
            .map(|(name, watch)| (*name, lock(&watch.state).clone()))
            .collect()
    }

    /// Whether every watch has been listed once, except for optional resources that the API server lacks.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let watches = self.watches();
        !watches.is_empty() && watches.iter().all(|(_, state)| state.synced || state.absent)
    }
}

/// The health of one watch, updated by its reflector.
#[derive(Debug, Default)]
pub(crate) struct WatchHealth {
    state: Mutex<WatchState>,
}

/// The state of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchState {
    /// Whether the resource has been listed once. It stays true: the cache keeps its objects when the watch fails.
    pub synced: bool,
    /// Whether the resource is optional and the API server lacks it at present.
    pub absent: bool,
    /// When the last response or event arrived.
    pub last_activity: Option<Instant>,
    /// The resourceVersion up to which all events were seen, and when an event, a bookmark or a list last advanced it. A watch that
    /// is open but silent does not advance it.
    pub position: Option<(String, Instant)>,
    /// Why the last relist has to be confirmed by a second one before its deletions are applied.
    pub unconfirmed: Option<String>,
    /// The last error since the watch last succeeded, and the time of the first one.
    pub last_error: Option<(String, Instant)>,
}

impl WatchState {
    /// The time since the last activity.
    #[must_use]
    pub fn idle_for(&self, now: Instant) -> Option<Duration> {
        self.last_activity
            .map(|activity| now.saturating_duration_since(activity))
    }

    /// The time since the resourceVersion of the watch last advanced: how old the cached objects may be.
    #[must_use]
    pub fn position_age(&self, now: Instant) -> Option<Duration> {
        let position = self.position.as_ref();
        position.map(|(_, advanced_at)| now.saturating_duration_since(*advanced_at))
    }
}

impl WatchHealth {
    /// A response or an event has arrived.
    pub(crate) fn record_activity(&self) {
        lock(&self.state).last_activity = Some(now());
    }

    /// The watch has advanced to this resourceVersion.
    pub(crate) fn record_position(&self, version: &str) {
        lock(&self.state).position = Some((version.to_owned(), now()));
    }

    /// A relist has to be confirmed by a second one; none if it was.
    pub(crate) fn set_unconfirmed(&self, message: Option<String>) {
        lock(&self.state).unconfirmed = message;
    }

    /// A list is complete, or a watch has been opened.
    pub(crate) fn set_synced(&self) {
        let mut state = lock(&self.state);
        state.synced = true;
        state.absent = false;
        state.last_error = None;
        state.last_activity = Some(now());
    }

    /// The API server lacks the resource, which is optional.
    pub(crate) fn set_absent(&self) {
        let mut state = lock(&self.state);
        state.absent = true;
        state.last_error = None;
        state.last_activity = Some(now());
    }

    /// A list or a watch failed.
    pub(crate) fn set_error(&self, error: &str) {
        let mut state = lock(&self.state);
        let since = state.last_error.take().map_or_else(now, |(_, since)| since);
        state.last_error = Some((error.to_owned(), since));
    }
}

/// The time of the runtime, which tests can pause.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Locks a mutex. The state stays valid if another thread panics while it holds the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
