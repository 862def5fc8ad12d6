//! The confirmation of large removals: a relist that would remove most endpoints of the cluster waits for a second one.
//!
//! An API server with a wrong view, such as one that is connected to an empty etcd, serves lists that lack most objects. Until a
//! second list confirms it, the old state of the missing objects stays in use (invariants.md §5).

use std::time::{Duration, Instant};

/// The delay before the second list.
pub(super) const CONFIRMATION_DELAY: Duration = Duration::from_secs(30);
/// Up to this number, endpoints are removed without confirmation.
pub(crate) const UNCONFIRMED_REMOVALS: usize = 100;

/// The confirmation of large removals of one watch.
#[derive(Debug)]
pub(super) struct RemovalConfirmation {
    /// Up to this number, endpoints are removed without confirmation.
    unconfirmed_removals: usize,
    /// When the first list was complete that would remove too many endpoints.
    unconfirmed_since: Option<Instant>,
}

impl RemovalConfirmation {
    pub(super) fn new(unconfirmed_removals: usize) -> Self {
        Self {
            unconfirmed_removals,
            unconfirmed_since: None,
        }
    }

    /// Whether the deletions of a relist are applied, which would remove `removed` of `total` endpoints: if they are few, or if
    /// a list that would remove as many was complete long enough before this one started.
    pub(super) fn allows(&mut self, removed: usize, total: usize, list_started_at: Instant, now: Instant) -> bool {
        let is_large = removed > self.unconfirmed_removals && removed > total / 2;
        let is_confirmed = self
            .unconfirmed_since
            .is_some_and(|at| list_started_at.saturating_duration_since(at) >= CONFIRMATION_DELAY);
        if is_large && !is_confirmed {
            self.unconfirmed_since.get_or_insert(now);
            return false;
        }
        self.unconfirmed_since = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_the_endpoints_and_more_than_100_are_removed_only_by_a_second_list() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        for (removed, total, allowed) in [
            (100, 100, true),
            (101, 202, true),
            (101, 201, false),
            (150_000, 0, false),
        ] {
            assert_eq!(
                RemovalConfirmation::new(UNCONFIRMED_REMOVALS).allows(removed, total, start, start),
                allowed,
                "{removed} of {total}"
            );
        }
        let mut confirmation = RemovalConfirmation::new(UNCONFIRMED_REMOVALS);
        assert!(!confirmation.allows(900, 1000, start, after(1)));
        assert!(
            !confirmation.allows(900, 1000, after(30), after(32)),
            "it started before the delay ended"
        );
        assert!(confirmation.allows(900, 1000, after(31), after(33)));
        assert!(!confirmation.allows(900, 1000, after(40), after(41)), "each time");
        assert!(
            confirmation.allows(3, 1000, after(42), after(43)),
            "the objects are listed again"
        );
        assert!(
            !confirmation.allows(900, 1000, after(80), after(81)),
            "the list before was complete"
        );
    }
}
