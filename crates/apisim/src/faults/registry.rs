//! Registry of active rules and open watch streams.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::StatusCode;
use tokio::sync::watch;

use super::{Fault, Match, Recorded, RequestLog, Rule, stream::StreamMode};
use crate::request::{ResourceRequest, Verb};

/// Handle on the rules and the request log of a [`FaultService`](super::FaultService). Clones share both.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    rules: Vec<ActiveRule>,
    streams: Vec<OpenStream>,
    log: RequestLog,
}

#[derive(Debug)]
struct ActiveRule {
    id: u64,
    rule: Rule,
    seen: usize,
    hits: usize,
    /// Closes with the rule, which releases held requests.
    removed: watch::Sender<()>,
}

#[derive(Debug)]
struct OpenStream {
    id: u64,
    request: ResourceRequest,
    /// The rule whose fault applies to the stream.
    broken_by: Option<u64>,
    mode: watch::Sender<StreamMode>,
}

/// The log entry and the fault of one request.
pub(super) struct Admission {
    /// The request's number in the log.
    pub(super) number: u64,
    pub(super) fault: Option<ActiveFault>,
}

/// A fault with its rule.
pub(super) struct ActiveFault {
    pub(super) rule: u64,
    pub(super) fault: Fault,
    /// Closes when the rule is removed.
    pub(super) removed: watch::Receiver<()>,
}

impl Faults {
    /// Activates a rule. A rule for watch streams also applies to open streams, unless it starts at a later match.
    #[expect(clippy::must_use_candidate, reason = "a rule is active without its handle")]
    pub fn add(&self, rule: Rule) -> RuleHandle {
        let mut state = self.state();
        let id = state.next_id();
        let hits = state.break_open_streams(id, &rule);
        state.rules.push(ActiveRule {
            id,
            rule,
            seen: hits,
            hits,
            removed: watch::Sender::new(()),
        });
        RuleHandle {
            faults: self.clone(),
            id,
        }
    }

    /// The number of recorded requests that `matches` covers.
    ///
    /// # Panics
    /// When the log is incomplete: see [`RequestLog::matching`].
    #[must_use]
    pub fn count(&self, matches: &Match) -> usize {
        self.state().log.matching(matches).len()
    }

    /// The recorded requests that `matches` covers, oldest first.
    ///
    /// # Panics
    /// When the log is incomplete: see [`RequestLog::matching`].
    #[must_use]
    pub fn requests(&self, matches: &Match) -> Vec<Recorded> {
        self.state().log.matching(matches).into_iter().cloned().collect()
    }

    /// The number of recorded requests that `matches` covers, by the status of the response.
    ///
    /// # Panics
    /// When the log is incomplete: see [`RequestLog::matching`].
    #[must_use]
    pub fn count_by_status(&self, matches: &Match) -> BTreeMap<Option<StatusCode>, usize> {
        self.state().log.count_by_status(matches)
    }

    /// The most recorded requests that `matches` covers within any second.
    ///
    /// # Panics
    /// When the log is incomplete: see [`RequestLog::matching`].
    #[must_use]
    pub fn peak_per_second(&self, matches: &Match) -> usize {
        self.state().log.peak_per_second(matches)
    }

    /// Clears the request log.
    pub fn clear_log(&self) {
        self.state().log.clear();
    }

    /// The number of open watch streams that `matches` covers.
    #[must_use]
    pub fn open_streams(&self, matches: &Match) -> usize {
        self.state()
            .streams
            .iter()
            .filter(|stream| matches.covers(&stream.request))
            .count()
    }

    pub(super) fn admit(&self, recorded: Recorded) -> Admission {
        let mut state = self.state();
        Admission {
            fault: state.fault_for(&recorded.request),
            number: state.log.push(recorded),
        }
    }

    pub(super) fn record_status(&self, number: u64, status: StatusCode) {
        self.state().log.record_status(number, status);
    }

    pub(super) fn open_stream(&self, request: ResourceRequest, broken: Option<(u64, StreamMode)>) -> StreamTicket {
        let mut state = self.state();
        let id = state.next_id();
        let (broken_by, mode) = broken.map_or((None, StreamMode::Flow), |(rule, mode)| (Some(rule), mode));
        let (sender, mode) = watch::channel(mode);
        state.streams.push(OpenStream {
            id,
            request,
            broken_by,
            mode: sender,
        });
        StreamTicket {
            faults: self.clone(),
            id,
            mode,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is ignored: no method leaves the state inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn fault_for(&mut self, request: &ResourceRequest) -> Option<ActiveFault> {
        let mut chosen = None;
        for active in &mut self.rules {
            if !active.rule.matches.covers(request) {
                continue;
            }
            active.seen += 1;
            let exhausted = active.rule.times.is_some_and(|times| active.hits >= times);
            if chosen.is_none() && active.seen >= active.rule.nth && !exhausted {
                active.hits += 1;
                chosen = Some(ActiveFault {
                    rule: active.id,
                    fault: active.rule.fault.clone(),
                    removed: active.removed.subscribe(),
                });
            }
        }
        chosen
    }

    /// Applies a stream rule to the open streams and returns their number.
    fn break_open_streams(&mut self, rule_id: u64, rule: &Rule) -> usize {
        let Fault::Stream { after_events, then } = rule.fault else {
            return 0;
        };
        if rule.nth > 1 {
            return 0;
        }
        let open = self
            .streams
            .iter_mut()
            .filter(|stream| stream.broken_by.is_none() && rule.matches.covers(&stream.request))
            .take(rule.times.unwrap_or(usize::MAX));
        let mut broken = 0;
        for stream in open {
            stream.broken_by = Some(rule_id);
            stream.mode.send_replace(StreamMode::Break { after_events, then });
            broken += 1;
        }
        broken
    }
}

/// Handle on an active rule. The rule stays active when the handle is dropped.
#[derive(Debug)]
pub struct RuleHandle {
    faults: Faults,
    id: u64,
}

impl RuleHandle {
    /// The number of injected faults.
    #[must_use]
    pub fn hits(&self) -> usize {
        let state = self.faults.state();
        state
            .rules
            .iter()
            .find(|active| active.id == self.id)
            .map_or(0, |active| active.hits)
    }

    /// Removes the rule. Held requests and streams continue.
    pub fn remove(self) {
        let mut state = self.faults.state();
        state.rules.retain(|active| active.id != self.id);
        for stream in &mut state.streams {
            if stream.broken_by == Some(self.id) {
                stream.broken_by = None;
                stream.mode.send_replace(StreamMode::Flow);
            }
        }
    }
}

/// The registration of an open stream, removed on drop.
#[derive(Debug)]
pub(super) struct StreamTicket {
    faults: Faults,
    id: u64,
    pub(super) mode: watch::Receiver<StreamMode>,
}

impl Drop for StreamTicket {
    fn drop(&mut self) {
        self.faults.state().streams.retain(|stream| stream.id != self.id);
    }
}

/// Whether a request opens a watch stream.
pub(super) fn opens_stream(request: &ResourceRequest) -> bool {
    request.verb == Verb::Watch
}
