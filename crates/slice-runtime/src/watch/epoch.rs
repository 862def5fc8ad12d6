//! Detection of resourceVersions that went back, because etcd was restored from an older copy (F14).
//!
//! A watch from a resourceVersion that the server has not reached yet is silent: no event, no bookmark, no error. A list without
//! a resourceVersion is a consistent read, which no stale server can serve. So the reflector probes with such a list: a version
//! below one that was seen before the probe was sent proves that versions went back.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::client::RequestError;

/// The shortest interval of probes. A random part of `INTERVAL_JITTER` is added. Together with the delays below, versions that
/// went back are detected within a minute even if the connection was not lost.
const INTERVAL: Duration = Duration::from_secs(40);
const INTERVAL_JITTER: Duration = Duration::from_secs(10);
/// The delay of a probe when something indicates that versions may have gone back; as much again is added at random.
const SOON: Duration = Duration::from_secs(2);
/// The delay of a probe after one that failed.
const RETRY: Duration = Duration::from_secs(10);
/// The delay of the second read that confirms the first; as much again is added at random.
const CONFIRMATION: Duration = Duration::from_secs(1);

/// The response to a probe: the current resourceVersion.
pub(super) type ProbeResponse = BoxFuture<'static, Result<Box<str>, RequestError>>;

/// The schedule of probes, and the probe in flight.
pub(super) struct EpochProbe {
    due: Instant,
    in_flight: Option<InFlight>,
}

struct InFlight {
    /// The highest resourceVersion seen before the probe was sent.
    seen: Option<u64>,
    response: ProbeResponse,
}

impl EpochProbe {
    pub(super) fn new() -> Self {
        Self {
            due: Instant::now() + interval(),
            in_flight: None,
        }
    }

    /// Probes within some seconds.
    pub(super) fn schedule_soon(&mut self) {
        self.due = self.due.min(Instant::now() + with_jitter(SOON));
    }

    /// Waits until a probe is due and sends it; returns whether its response is older than `seen` at that time. Nothing is
    /// lost if the future is dropped: the next call waits for the same probe.
    pub(super) async fn is_older(&mut self, seen: Option<u64>, send: impl FnOnce() -> ProbeResponse) -> bool {
        if self.in_flight.is_none() {
            tokio::time::sleep_until(self.due).await;
        }
        let in_flight = self
            .in_flight
            .get_or_insert_with(|| InFlight { seen, response: send() });
        let response = (&mut in_flight.response).await;
        let seen = in_flight.seen;
        *self = Self::new();
        match response {
            Ok(version) => seen.is_some_and(|seen| is_below(&version, seen)),
            Err(error) => {
                tracing::debug!(%error, "cannot read the current resourceVersion, retrying");
                self.due = Instant::now() + RETRY;
                false
            }
        }
    }
}

/// Whether a resourceVersion is a number below another.
pub(super) fn is_below(version: &str, seen: u64) -> bool {
    version.parse::<u64>().is_ok_and(|version| version < seen)
}

/// The delay before a further read confirms that versions went back.
pub(super) fn confirmation_delay() -> Duration {
    with_jitter(CONFIRMATION)
}

fn interval() -> Duration {
    INTERVAL + INTERVAL_JITTER.mul_f64(fastrand::f64())
}

fn with_jitter(delay: Duration) -> Duration {
    delay.mul_f64(1.0 + fastrand::f64())
}
