//! Desired readiness of an endpoint over time.
//!
//! A controller's cache lags behind the store, so a write need not match the inputs of its own revision. It must match
//! those of some revision that is not older than the ones observed before, because a cache does not go back.

use k8s_openapi::jiff::Timestamp;

use crate::history::Event;

/// Transitions of desired readiness, in the order of revisions. The initial state is not ready.
#[derive(Debug, Default)]
pub(super) struct ReadinessTimeline(Vec<Transition>);

#[derive(Debug)]
struct Transition {
    revision: u64,
    at: Timestamp,
    ready: bool,
}

impl ReadinessTimeline {
    /// Records the readiness after an event.
    pub(super) fn record(&mut self, revision: u64, event: &Event, ready: bool) {
        // Of two transitions at the same revision, only the second is observable.
        self.0.pop_if(|last| last.revision == revision);
        if self.0.last().is_some_and(|last| last.ready) != ready {
            self.0.push(Transition {
                revision,
                at: event.at(),
                ready,
            });
        }
    }

    /// The first revision of a range with this readiness, unless that state ended before `since`.
    pub(super) fn first_revision(&self, ready: bool, from: u64, to: u64, since: Timestamp) -> Option<u64> {
        let begins =
            std::iter::once((0, false)).chain(self.0.iter().map(|transition| (transition.revision, transition.ready)));
        let ends = self.0.iter().map(Some).chain([None]);
        begins.zip(ends).find_map(|((begin, was), end)| {
            let fits = was == ready && begin <= to && end.is_none_or(|end| end.revision > from && end.at >= since);
            fits.then_some(begin.max(from))
        })
    }
}
