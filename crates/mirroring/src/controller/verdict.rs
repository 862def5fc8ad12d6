//! What is to become of the slices of a name.

use std::time::Duration;

use jiff::Timestamp;
use slice_controller::SyncContext;

use super::{
    Endpoints,
    index::{Entry, Service},
};
use crate::Warning;

/// How long slices stay when their Service has begun to select pods and nobody publishes these yet (invariants.md §5).
const GRACE: Duration = Duration::from_secs(5);

/// What is to become of the slices of a name.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    /// They mirror the Endpoints object (M7).
    Mirror {
        endpoints: &'a Endpoints,
        told: &'a mut Vec<Warning>,
    },
    /// They go (M2, M3, M5, M6).
    CleanUp,
    /// They stay as they are, for so long.
    Wait(Duration),
    /// They are none of our business.
    LeaveAlone,
}

impl Entry {
    /// Decides.
    pub(super) fn verdict(&mut self, context: &SyncContext<'_>, all_in_scope: bool) -> Verdict<'_> {
        let Some(service) = &mut self.service else {
            return Verdict::without_service(all_in_scope);
        };
        match (&self.endpoints, service) {
            (None, _) => Verdict::CleanUp,
            (Some(endpoints), Service::Plain) => Verdict::Mirror {
                endpoints,
                told: &mut self.told,
            },
            (Some(_), Service::Selecting { since }) => {
                let left = grace_left(since, context.now);
                let mut slices = context.existing.iter();
                let live = slices.any(|slice| slice.metadata.deletion_timestamp.is_none());
                if live && self.pod_slices == 0 && !left.is_zero() {
                    Verdict::Wait(left)
                } else {
                    Verdict::CleanUp
                }
            }
        }
    }
}

impl Verdict<'_> {
    /// If only some Services are in scope, one that is not known is somebody else's rather than gone.
    pub(super) fn without_service(all_in_scope: bool) -> Self {
        if all_in_scope { Self::CleanUp } else { Self::LeaveAlone }
    }
}

/// How much of the grace is left. It begins with the first look, and anew when the clock was set back.
fn grace_left(since: &mut Option<Timestamp>, now: Timestamp) -> Duration {
    let begin = since.filter(|since| *since <= now).unwrap_or(now);
    *since = Some(begin);
    GRACE.saturating_sub(now.duration_since(begin).unsigned_abs())
}
