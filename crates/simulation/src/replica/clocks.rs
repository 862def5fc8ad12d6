//! The clocks of the machine that a replica runs on.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use slice_runtime::leader_election::LeaseTime;

/// The time on a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// The monotonic clock, which stands still while the machine is suspended.
    pub(crate) now: Instant,
    /// The clock of leases, which goes on meanwhile.
    pub(crate) lease: LeaseTime,
    /// The wall clock.
    pub(crate) wall: Timestamp,
}

/// How the clocks of a machine differ from the time of the play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    start: Instant,
    /// How long the machine had been running at the start of the play, and how much its wall clock is ahead.
    offset: Duration,
    /// For how long the machine was suspended before `last`.
    suspended: Duration,
    /// The last time that the machine was suspended: from when, until when.
    last: (Instant, Instant),
}

impl Clocks {
    pub(crate) fn new(start: Instant, offset: Duration) -> Self {
        Self {
            start,
            offset,
            suspended: Duration::ZERO,
            last: (start, start),
        }
    }

    /// The machine is suspended.
    pub(crate) fn suspend(&mut self, from: Instant, until: Instant) {
        self.suspended += self.last.1 - self.last.0;
        self.last = (from, until);
    }

    /// The time on the machine.
    pub(crate) fn at(&self, now: Instant) -> Time {
        let (from, until) = self.last;
        let in_last = now.clamp(from, until) - from;
        let played = now - self.start;
        let elapsed = self.offset + played;
        Time {
            now: self.start + played.saturating_sub(self.suspended + in_last),
            lease: LeaseTime::from_origin(elapsed),
            wall: Timestamp::UNIX_EPOCH + elapsed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspended_machine_stops_the_monotonic_clock_only() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut clocks = Clocks::new(start, Duration::from_secs(60));
        clocks.suspend(after(2), after(5));
        assert_eq!(
            [2, 4, 6].map(|seconds| clocks.at(after(seconds)).now),
            [2, 2, 3].map(after)
        );
        clocks.suspend(after(6), after(8));
        let now = [6, 7, 10].map(|seconds| clocks.at(after(seconds)));
        assert_eq!(now.map(|time| time.now), [3, 3, 5].map(after));
        let lease = |seconds| LeaseTime::from_origin(Duration::from_secs(seconds));
        assert_eq!(now.map(|time| time.lease), [66, 67, 70].map(lease));
    }
}
