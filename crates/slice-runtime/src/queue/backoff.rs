//! How long a key that failed has to wait.

use std::time::Duration;

/// Doubles from a first wait up to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backoff {
    pub(super) first: Duration,
    pub(super) cap: Duration,
}

impl Default for Backoff {
    /// From 1 s to 60 s: what wins where the rules meet (invariants.md §5).
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            cap: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// The wait after so many failures before this one.
    pub(super) fn after(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_and_stays_at_the_bound() {
        let waits = [0, 1, 5, 6, 7, 31, 32, u32::MAX].map(|failures| Backoff::default().after(failures).as_secs());
        assert_eq!(waits, [1, 2, 32, 60, 60, 60, 60, 60]);
    }
}
