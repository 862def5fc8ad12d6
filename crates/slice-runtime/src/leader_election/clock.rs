//! The clock of leases.

use std::{fmt, ops::Add, sync::Arc, time::Duration};

/// A time of the clock of leases: since the machine started, including the time while it was suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseTime(Duration);

impl LeaseTime {
    /// The time this long after the origin of the clock.
    #[must_use]
    pub fn from_origin(since: Duration) -> Self {
        Self(since)
    }

    /// The time from an earlier time to this one; zero if that is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for LeaseTime {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// Reads the clock of leases.
#[derive(Clone)]
pub(crate) struct LeaseClock(Arc<dyn Fn() -> LeaseTime + Send + Sync>);

impl LeaseClock {
    /// The clock of the system. It is monotonic, and goes on while the machine is suspended: `Instant` does not (F20).
    pub(crate) fn system() -> Self {
        Self(Arc::new(boot_time))
    }

    pub(crate) fn now(&self) -> LeaseTime {
        (self.0)()
    }
}

impl fmt::Debug for LeaseClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LeaseClock").field(&self.now()).finish()
    }
}

#[cfg(target_os = "linux")]
fn boot_time() -> LeaseTime {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    LeaseTime(Duration::try_from(time).expect("the time since the start is not negative"))
}

/// The monotonic clock of other systems.
#[cfg(not(target_os = "linux"))]
fn boot_time() -> LeaseTime {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    LeaseTime(Duration::try_from(time).expect("the time since the start is not negative"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    impl LeaseClock {
        /// The paused clock of tokio.
        pub(crate) fn tokio() -> Self {
            let origin = tokio::time::Instant::now();
            Self(Arc::new(move || LeaseTime(origin.elapsed())))
        }

        /// The paused clock of tokio on a machine that is suspended for 12 s before this read of the clock.
        pub(crate) fn suspended_before_read(read: usize) -> Self {
            let (origin, reads) = (tokio::time::Instant::now(), AtomicUsize::new(0));
            Self(Arc::new(move || {
                let is_after = reads.fetch_add(1, Ordering::Relaxed) >= read;
                LeaseTime(origin.elapsed() + Duration::from_secs(if is_after { 12 } else { 0 }))
            }))
        }
    }

    #[test]
    fn the_clock_of_the_system_advances() {
        let clock = LeaseClock::system();
        let earlier = clock.now();
        assert!(clock.now() >= earlier);
        assert!(earlier.since(LeaseTime::default()) > Duration::ZERO);
    }
}
