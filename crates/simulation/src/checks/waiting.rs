//! Writes that fail or hang in one namespace do not delay the keys of others (I10).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use slice_controller::Key;

use super::{Violation, ensure};

/// How long a due key may wait for a slot: a hanging write gives its slot up after 500 ms, and keys of other namespaces and lanes
/// may come first.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Since when each key of a replica has been waiting for a slot, by its index.
#[derive(Debug, Default)]
pub(crate) struct WaitBound {
    since: BTreeMap<(usize, Key), Instant>,
}

impl WaitBound {
    pub(crate) fn clear(&mut self) {
        self.since.clear();
    }

    /// Checks the waiting keys of a replica. `failing` is the namespace whose writes fail.
    pub(crate) fn check(
        &mut self,
        replica: usize,
        waiting: &[Key],
        failing: &str,
        now: Instant,
    ) -> Result<(), Violation> {
        self.since
            .retain(|(index, key), _| *index != replica || waiting.contains(key));
        for key in waiting.iter().filter(|key| &*key.namespace != failing) {
            let since = *self.since.entry((replica, key.clone())).or_insert(now);
            let waited = now.saturating_duration_since(since);
            ensure(waited <= MAX_WAIT, "I10", || {
                format!("{key} is due and waits for a slot for {waited:?}, while writes in {failing} fail")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_key_of_another_namespace_that_gets_no_slot_is_found() {
        let (start, keys) = (Instant::now(), [Key::new("failing", "a"), Key::new("ns", "b")]);
        let mut bound = WaitBound::default();
        let mut check = |replica, keys, seconds| {
            let result = bound.check(replica, keys, "failing", start + Duration::from_secs(seconds));
            result.err().map(|violation| violation.invariant)
        };
        assert_eq!(check(0, &keys, 0), None);
        assert_eq!(check(1, &keys, 2), None);
        assert_eq!(check(1, &keys, 5), None, "another replica");
        assert_eq!(check(0, &keys[..1], 5), None, "of the failing namespace only");
        assert_eq!(check(0, &keys, 6), None);
        assert_eq!(check(0, &keys, 10), Some("I10"));
    }
}
