//! A bound for the plans of each controller for a key while a webhook rewrites the labels of its slices (F24).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use slice_controller::Key;

use super::{Violation, ensure};
use crate::engine::Role;

/// Plans of a key that need no reason: the first ones of an exponential backoff.
const INITIAL_PLANS: u32 = 6;
/// Plans for one change: the sync, its retry after a conflict, and one from an older view.
const PLANS_PER_CHANGE: u32 = 3;
/// One more plan is allowed in each.
const PERIOD: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct RewriteBound {
    active_since: Option<Instant>,
    /// Changes of inputs and slices, relists and restarts since then.
    changes: u32,
    /// Each controller has its own backoff for a key of the same name.
    plans: BTreeMap<(Role, Key), u32>,
}

impl RewriteBound {
    pub(crate) fn set_active(&mut self, active: bool, now: Instant) {
        if active && self.active_since.is_none() {
            *self = Self {
                active_since: Some(now),
                ..Self::default()
            };
        }
        if !active {
            self.active_since = None;
        }
    }

    pub(crate) fn allow_changes(&mut self, changes: u32) {
        self.changes += changes;
    }

    /// A plan with writes was made.
    pub(crate) fn planned(&mut self, role: Role, key: &Key, now: Instant) -> Result<(), Violation> {
        let Some(since) = self.active_since else { return Ok(()) };
        let elapsed = now.saturating_duration_since(since);
        let periods = u32::try_from(elapsed.as_secs() / PERIOD.as_secs()).unwrap_or(u32::MAX);
        let allowed = INITIAL_PLANS + PLANS_PER_CHANGE * self.changes + periods;
        let plans = self.plans.entry((role, key.clone())).or_default();
        *plans += 1;
        ensure(*plans <= allowed, "F24", || {
            format!(
                "{key} was written {plans} times by {} in {elapsed:?} with {} changes while a webhook rewrites labels, {allowed} at most",
                role.managed_by(),
                self.changes
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_written_again_and_again_is_found() {
        let (start, key) = (Instant::now(), Key::new("ns", "web"));
        let mut bound = RewriteBound::default();
        let plans = |bound: &mut RewriteBound, role, now| {
            let planned = (0..100).take_while(|_| bound.planned(role, &key, now).is_ok());
            planned.count()
        };
        assert_eq!(
            plans(&mut bound, Role::Services, start),
            100,
            "labels are not rewritten"
        );
        bound.set_active(true, start);
        assert_eq!(plans(&mut bound, Role::Services, start), 6);
        assert_eq!(plans(&mut bound, Role::Mirroring, start), 6, "counted by itself");
        bound.allow_changes(2);
        let later = plans(&mut bound, Role::Services, start + PERIOD);
        assert_eq!(later, 6, "13 in all, of which 7 were made");
    }
}
