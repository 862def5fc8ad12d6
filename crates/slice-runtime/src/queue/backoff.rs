//! The backoff of failing keys.

use std::time::Duration;

/// Exponential backoff: the delay doubles with each failure, up to a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backoff {
    pub(super) base: Duration,
    pub(super) cap: Duration,
}

impl Default for Backoff {
    /// From 1 s to 60 s (invariants.md §5).
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            cap: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// The delay after a failure that follows this number of failures in a row. `jitter` (0 to 1) shortens it by up to a
    /// fifth: the cap stays the longest delay.
    pub(super) fn after(self, failures: u32, jitter: f64) -> Duration {
        let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
        let delay = self.base.saturating_mul(factor).min(self.cap);
        delay.mul_f64(1.0 - 0.2 * jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_the_cap() {
        let delays =
            [0, 1, 5, 6, 7, 31, 32, u32::MAX].map(|failures| Backoff::default().after(failures, 0.0).as_secs());
        assert_eq!(delays, [1, 2, 32, 60, 60, 60, 60, 60]);
    }

    /// Keys that failed together are not retried together.
    #[test]
    fn jitter_shortens_the_delay() {
        let delays = [0.0, 0.5, 1.0].map(|jitter| Backoff::default().after(7, jitter).as_secs());
        assert_eq!(delays, [60, 54, 48]);
    }
}
