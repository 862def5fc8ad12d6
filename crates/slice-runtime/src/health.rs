//! Whether all is well, and what is not.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// What is known of every watched resource.
#[derive(Debug, Default)]
pub struct Health {
    sources: Mutex<Vec<(&'static str, Arc<SourceHealth>)>>,
}

impl Health {
    /// Another resource is watched.
    pub(crate) fn add(&self, kind: &'static str) -> Arc<SourceHealth> {
        let source = Arc::new(SourceHealth::default());
        lock(&self.sources).push((kind, Arc::clone(&source)));
        source
    }

    /// How each resource is doing.
    #[must_use]
    pub fn watches(&self) -> Vec<(&'static str, WatchState)> {
        let sources = lock(&self.sources);
        sources
            .iter()
            .map(|(kind, source)| (*kind, lock(&source.state).clone()))
            .collect()
    }

    /// Whether every resource has been listed, except for optional ones that the API server lacks.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let sources = self.watches();
        !sources.is_empty() && sources.iter().all(|(_, state)| state.synced || state.absent)
    }
}

/// What is known of one watched resource.
#[derive(Debug, Default)]
pub(crate) struct SourceHealth {
    state: Mutex<WatchState>,
}

/// How a watched resource is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchState {
    /// Whether it has been listed once; what is known then stays known.
    pub synced: bool,
    /// Whether it is optional, and the API server lacks it at present.
    pub absent: bool,
    /// When the server was last heard.
    pub last_contact: Option<Instant>,
    /// What goes wrong, and since when.
    pub trouble: Option<(String, Instant)>,
}

impl WatchState {
    /// For how long the server has not been heard.
    #[must_use]
    pub fn idle_for(&self, now: Instant) -> Option<Duration> {
        self.last_contact.map(|contact| now.saturating_duration_since(contact))
    }
}

impl SourceHealth {
    /// The server was heard.
    pub(crate) fn contact(&self) {
        lock(&self.state).last_contact = Some(Instant::now());
    }

    /// Everything is known, and the server says what changes.
    pub(crate) fn synced(&self) {
        let mut state = lock(&self.state);
        state.synced = true;
        state.absent = false;
        state.trouble = None;
        state.last_contact = Some(Instant::now());
    }

    /// The API server lacks the resource, which is optional.
    pub(crate) fn absent(&self) {
        let mut state = lock(&self.state);
        state.absent = true;
        state.trouble = None;
        state.last_contact = Some(Instant::now());
    }

    /// Something goes wrong.
    pub(crate) fn trouble(&self, problem: &str) {
        let mut state = lock(&self.state);
        let since = state.trouble.take().map_or_else(Instant::now, |(_, since)| since);
        state.trouble = Some((problem.to_owned(), since));
    }
}

/// A panic elsewhere does not make what is known wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
