//! The health of a controller: the state of every watch, and whether a restart would help.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A controller whose loop has not turned for so long is not live.
const LOOP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long every watch must have failed before a fresh connection is tried.
const WATCHES_TIMEOUT: Duration = Duration::from_secs(600);
/// How long the answer to a fresh connection counts. Longer than the time between two attempts.
const ANSWER_VALIDITY: Duration = Duration::from_secs(90);

/// The health of a controller.
#[derive(Debug)]
pub struct Health {
    watches: Mutex<Vec<(&'static str, Arc<WatchHealth>)>>,
    times: Mutex<Times>,
    /// The state of leader election, if there is one.
    election: Mutex<Option<ElectionState>>,
}

/// The state of leader election, for `/readyz?verbose`. It does not affect readiness: a standby is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ElectionState {
    /// This instance leads.
    Leading,
    /// The instance with this identity leads, as far as known.
    StandingBy(Option<String>),
    /// The lease cannot be read or written.
    Failed(String),
}

/// What liveness depends on besides the watches.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// When the loop of the controller last turned; before its first turn, the start.
    turned_at: Instant,
    /// When a fresh connection to the API server was last answered, while every watch failed.
    answered_at: Option<Instant>,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            watches: Mutex::default(),
            times: Mutex::new(Times {
                turned_at: now(),
                answered_at: None,
            }),
            election: Mutex::default(),
        }
    }
}

/// Whether a program is live. If not, a restart may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Live,
    /// The loop of the controller has not turned for this time.
    LoopStopped(Duration),
    /// Every watch has failed for this time, although the API server answers a fresh connection.
    WatchesFail(Duration),
}

impl fmt::Display for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str("live"),
            Self::LoopStopped(time) => {
                write!(f, "the loop of the controller has not turned for {} s", time.as_secs())
            }
            Self::WatchesFail(time) => write!(
                f,
                "every watch has failed for {} s, although the API server answers a fresh connection",
                time.as_secs()
            ),
        }
    }
}

/// How long every watch has failed; none if one has not, or there is none.
fn failing_for(watches: &[(&'static str, WatchState)], now: Instant) -> Option<Duration> {
    let times = watches.iter().map(|(_, state)| state.failing_for(now));
    times.min().filter(|time| !time.is_zero())
}

fn liveness(times: Times, watches: &[(&'static str, WatchState)], now: Instant) -> Liveness {
    let stopped = now.saturating_duration_since(times.turned_at);
    if stopped >= LOOP_TIMEOUT {
        return Liveness::LoopStopped(stopped);
    }
    let is_recent = |answered_at| now.saturating_duration_since(answered_at) < ANSWER_VALIDITY;
    match failing_for(watches, now) {
        Some(time) if time >= WATCHES_TIMEOUT && times.answered_at.is_some_and(is_recent) => {
            Liveness::WatchesFail(time)
        }
        _ => Liveness::Live,
    }
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

    /// The loop of the controller has turned.
    pub(crate) fn record_turn(&self) {
        lock(&self.times).turned_at = now();
    }

    /// The API server has answered a fresh connection.
    pub(crate) fn record_answer(&self) {
        lock(&self.times).answered_at = Some(now());
    }

    /// Whether every watch has failed for so long that a fresh connection is tried.
    pub(crate) fn needs_fresh_connection(&self, now: Instant) -> bool {
        failing_for(&self.watches(), now).is_some_and(|time| time >= WATCHES_TIMEOUT)
    }

    pub(crate) fn liveness(&self, now: Instant) -> Liveness {
        let times = *lock(&self.times);
        liveness(times, &self.watches(), now)
    }

    pub(crate) fn set_election(&self, state: ElectionState) {
        *lock(&self.election) = Some(state);
    }

    pub(crate) fn election(&self) -> Option<ElectionState> {
        lock(&self.election).clone()
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

    /// The time since the list or watch began to fail; zero if it works.
    #[must_use]
    pub fn failing_for(&self, now: Instant) -> Duration {
        let error = self.last_error.as_ref();
        error.map_or(Duration::ZERO, |(_, since)| now.saturating_duration_since(*since))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(since: Option<Instant>) -> WatchState {
        WatchState {
            synced: true,
            last_error: since.map(|since| ("broken".to_owned(), since)),
            ..WatchState::default()
        }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_loop_that_has_not_turned_for_30_s_is_not_live() {
        let start = Instant::now();
        let times = Times {
            turned_at: start,
            answered_at: None,
        };
        let at = |now| liveness(times, &[], start + now);
        assert_eq!(at(seconds(0)), Liveness::Live);
        assert_eq!(at(seconds(29)), Liveness::Live);
        assert_eq!(at(LOOP_TIMEOUT), Liveness::LoopStopped(LOOP_TIMEOUT));
    }

    #[test]
    fn watches_must_all_fail_for_10_minutes_while_a_fresh_connection_is_answered() {
        let start = Instant::now();
        let (now, before) = (start + seconds(2000), |age: u64| Some(start + seconds(2000 - age)));
        for (watches, answered_at, expected) in [
            (&[before(700), before(600)][..], before(0), Some(600)),
            (&[before(700), before(600)], before(89), Some(600)),
            // The answer is old, as if the API server were gone since then; or there is none.
            (&[before(700), before(600)], before(90), None),
            (&[before(700), before(600)], None, None),
            // One watch fails for a shorter time, or not at all.
            (&[before(700), before(599)], before(0), None),
            (&[before(700), None], before(0), None),
            (&[], before(0), None),
        ] {
            let watches: Vec<_> = watches.iter().map(|since| ("pods", failing(*since))).collect();
            let times = Times {
                turned_at: now,
                answered_at,
            };
            let expected = expected.map_or(Liveness::Live, |time| Liveness::WatchesFail(seconds(time)));
            assert_eq!(liveness(times, &watches, now), expected, "{watches:?} {answered_at:?}");
        }
    }
}
