//! The action of a sync on the slices of a key: mirror, delete, wait or ignore.

use std::time::Duration;

use jiff::Timestamp;
use slice_controller::SyncContext;

use super::{
    Endpoints,
    index::{Entry, SelectorState},
};

/// How long mirrored slices are kept after their Service got a selector, while it has no slice with pods (invariants.md §5).
const GRACE_PERIOD: Duration = Duration::from_secs(5);

/// The action of a sync on the slices of a key.
#[derive(Debug)]
pub(super) enum Action<'a> {
    /// Mirror the Endpoints object (M7).
    Mirror { endpoints: &'a Endpoints },
    /// Delete the slices (M2, M3, M5, M6).
    CleanUp,
    /// Keep the slices unchanged and requeue the key after this time.
    Wait(Duration),
    /// Do nothing: the Service is out of scope.
    Ignore,
}

impl Entry {
    /// Returns the action for this entry. Starts the grace period if the Service has a selector.
    pub(super) fn action(&mut self, context: &SyncContext<'_>, watches_all_services: bool) -> Action<'_> {
        let Some(selector) = &mut self.selector else {
            return Action::without_service(watches_all_services);
        };
        match (&self.endpoints, selector) {
            (None, _) => Action::CleanUp,
            (Some(endpoints), SelectorState::None) => Action::Mirror { endpoints },
            (Some(_), SelectorState::Present { since }) => {
                let remaining = remaining_grace(since, context.now);
                let mut slices = context.existing.iter();
                let any_live = slices.any(|slice| slice.metadata.deletion_timestamp.is_none());
                if any_live && self.pod_slices == 0 && !remaining.is_zero() {
                    Action::Wait(remaining)
                } else {
                    Action::CleanUp
                }
            }
        }
    }
}

impl Action<'_> {
    /// The action for a key without a Service. With `--service-selector`, a Service missing from the index may
    /// exist and not match the selector.
    pub(super) fn without_service(watches_all_services: bool) -> Self {
        if watches_all_services {
            Self::CleanUp
        } else {
            Self::Ignore
        }
    }
}

/// Returns the rest of the grace period. It starts with the first sync, and again if the clock was set back.
fn remaining_grace(since: &mut Option<Timestamp>, now: Timestamp) -> Duration {
    let start = since.filter(|since| *since <= now).unwrap_or(now);
    *since = Some(start);
    GRACE_PERIOD.saturating_sub(now.duration_since(start).unsigned_abs())
}
