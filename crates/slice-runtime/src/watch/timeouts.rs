//! The timeouts of a reflector.

use std::time::Duration;

/// The timeouts of a reflector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchTimeouts {
    /// The shortest duration of one watch request (`timeoutSeconds`).
    shortest_watch: Duration,
    /// A random part of it is added.
    watch_jitter: Duration,
    /// The time after which a watch that the server did not end is abandoned, in addition to its duration.
    pub(super) grace: Duration,
    /// The time without any frame, bookmarks included, after which a watch is opened again.
    pub(super) silence: Duration,
    /// Maximum time between two events of a streaming list.
    pub(super) idle: Duration,
    /// A watch that ends sooner counts as failed.
    pub(super) min_duration: Duration,
}

impl WatchTimeouts {
    /// Short watches, for connections without keep-alive pings (HTTP/1.1): a broken connection is detected only when the watch
    /// should have ended (F9).
    pub(crate) fn short() -> Self {
        Self::with_watch(Duration::from_secs(10), Duration::ZERO)
    }

    /// Watches of 5 to 10 minutes, for connections whose keep-alive pings detect that they are broken (HTTP/2). Random, so that
    /// the watches of many clients do not end together.
    pub(crate) fn long() -> Self {
        Self::with_watch(Duration::from_secs(5 * 60), Duration::from_secs(5 * 60))
    }

    fn with_watch(shortest_watch: Duration, watch_jitter: Duration) -> Self {
        Self {
            shortest_watch,
            watch_jitter,
            grace: Duration::from_secs(3),
            silence: Duration::from_secs(90),
            idle: Duration::from_secs(30),
            min_duration: Duration::from_secs(1),
        }
    }

    /// The longest duration of a watch.
    pub(super) fn longest_watch(&self) -> Duration {
        self.shortest_watch + self.watch_jitter
    }

    /// The duration of the next watch. `random` is between 0 and 1.
    pub(super) fn watch(&self, random: f64) -> Duration {
        self.shortest_watch + self.watch_jitter.mul_f64(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_watches_have_a_random_duration_and_short_ones_a_fixed_one() {
        let seconds = |timeouts: WatchTimeouts| [0.0, 0.5, 1.0].map(|random| timeouts.watch(random).as_secs());
        assert_eq!(seconds(WatchTimeouts::short()), [10; 3]);
        assert_eq!(seconds(WatchTimeouts::long()), [300, 450, 600]);
    }
}
