//! When something should have been ready, and when not.
//!
//! A controller knows its inputs with some delay, so that what it writes need not fit the inputs of that moment. It
//! must fit those of some moment that is not before any that it has already shown to know, for time does not go back
//! in its caches either.

use k8s_openapi::jiff::Timestamp;

use crate::history::Event;

/// How readiness turned, in the order of revisions. Before the first transition it was not.
#[derive(Debug, Default)]
pub(super) struct ReadinessTimeline(Vec<Transition>);

#[derive(Debug)]
struct Transition {
    revision: u64,
    at: Timestamp,
    ready: bool,
}

impl ReadinessTimeline {
    /// Notes what is since an event.
    pub(super) fn record(&mut self, revision: u64, event: &Event, ready: bool) {
        // Of two turns by the same revision only the second was ever to be seen.
        self.0.pop_if(|last| last.revision == revision);
        if self.0.last().is_some_and(|last| last.ready) != ready {
            self.0.push(Transition {
                revision,
                at: event.at(),
                ready,
            });
        }
    }

    /// The first revision of a range in which it was so, unless that had ended before `since`.
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
