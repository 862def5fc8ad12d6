//! Waits until a Lease is renewed, which shows that its holder works.

use std::time::Duration;

use anyhow::Context as _;
use jiff::SignedDuration;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{Api, Client};
use tokio::time::{Instant, sleep};

use crate::error;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A leader renews its Lease every 2 s by default.
const PRINT_AFTER: Duration = Duration::from_secs(5);

/// What was observed of a Lease.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Leadership {
    /// An instance has renewed or acquired it.
    Held(Leader),
    /// No instance has renewed it in time.
    NotRenewed,
    /// There is no such Lease.
    Missing,
}

/// The holder of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) identity: String,
    /// How long it leads, by its own clock.
    pub(crate) leads_for: SignedDuration,
}

/// Observes a Lease until it is renewed, so that the clocks of the cluster and of this machine need not agree. `waiting` is
/// printed if that takes longer than a leader needs. An API server that does not respond is tried again.
pub(crate) async fn wait_for_renewal(
    client: &Client,
    namespace: &str,
    name: &str,
    timeout: Duration,
    waiting: &str,
) -> anyhow::Result<Leadership> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let start = Instant::now();
    let mut first = None;
    let mut is_printed = false;
    loop {
        let lease = leases.get_opt(name).await;
        let lease = lease.with_context(|| format!("cannot read the Lease {namespace}/{name}"));
        let is_last = start.elapsed() >= timeout;
        match lease {
            Err(error) if is_last || error::is_denied(&error) => return Err(error),
            Err(_) => {}
            Ok(lease) => {
                let exists = lease.is_some();
                let renewal = lease.and_then(|lease| Renewal::of(lease.spec?));
                if let Some(renewal) = renewal
                    && renewal != *first.get_or_insert_with(|| renewal.clone())
                {
                    return Ok(Leadership::Held(renewal.leader()));
                }
                if is_last {
                    return Ok(if exists {
                        Leadership::NotRenewed
                    } else {
                        Leadership::Missing
                    });
                }
            }
        }
        if start.elapsed() >= PRINT_AFTER && !is_printed {
            println!("{waiting}");
            is_printed = true;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Which instance renewed a Lease, and when.
#[derive(Clone, PartialEq)]
struct Renewal {
    identity: String,
    acquired: Option<MicroTime>,
    renewed: Option<MicroTime>,
}

impl Renewal {
    /// `None` if the Lease was released.
    fn of(spec: LeaseSpec) -> Option<Self> {
        Some(Self {
            identity: spec.holder_identity.filter(|holder| !holder.is_empty())?,
            acquired: spec.acquire_time,
            renewed: spec.renew_time,
        })
    }

    fn leader(self) -> Leader {
        let times = self.renewed.zip(self.acquired);
        Leader {
            identity: self.identity,
            leads_for: times.map_or(SignedDuration::ZERO, |(renewed, acquired)| {
                renewed.0.duration_since(acquired.0)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Mutex};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn lease(holder: &str, second: u32) -> (u16, Value) {
        let renewed = format!("2024-01-01T00:00:{second:02}.000000Z");
        let spec = json!({
            "holderIdentity": holder, "acquireTime": "2024-01-01T00:00:00.000000Z", "renewTime": renewed,
        });
        (200, json!({"metadata": {"name": "lock"}, "spec": spec}))
    }

    fn missing() -> (u16, Value) {
        let status = json!({"status": "Failure", "reason": "NotFound", "message": "not found", "code": 404});
        (404, status)
    }

    fn unavailable() -> (u16, Value) {
        let status =
            json!({"status": "Failure", "reason": "InternalError", "message": "etcd has no leader", "code": 500});
        (500, status)
    }

    /// Observes an API server that sends these responses, then the last one again. Also returns how long that took.
    async fn observe(responses: &[(u16, Value)]) -> (anyhow::Result<Leadership>, Duration) {
        let responses: &'static _ = Box::leak(Box::new(Mutex::new(responses.to_vec())));
        let respond = |_: Request<Body>| async {
            let mut responses = responses.lock().unwrap();
            let (status, body) = if responses.len() > 1 {
                responses.remove(0)
            } else {
                responses[0].clone()
            };
            let body = Body::from(body.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(status).body(body).unwrap())
        };
        let client = Client::new(tower::service_fn(respond), "default");
        let start = Instant::now();
        let observed = wait_for_renewal(&client, "kube-system", "lock", TIMEOUT, "waiting").await;
        (observed, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_shows_the_holder() {
        let a = |seconds| {
            Leadership::Held(Leader {
                identity: "a".to_owned(),
                leads_for: SignedDuration::from_secs(seconds),
            })
        };
        for (responses, expected) in [
            (vec![lease("a", 0), lease("a", 0), lease("a", 2)], a(2)),
            (vec![lease("b", 0), lease("a", 0)], a(0)),
            (vec![lease("", 0), lease("a", 1), lease("a", 2)], a(2)),
            (vec![missing(), lease("a", 1), lease("a", 2)], a(2)),
            (vec![lease("a", 1), unavailable(), lease("a", 2)], a(2)),
        ] {
            assert_eq!(observe(&responses).await.0.unwrap(), expected, "{responses:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_without_renewals_is_observed_until_the_timeout() {
        for (response, expected) in [
            (lease("a", 0), Leadership::NotRenewed),
            (lease("", 0), Leadership::NotRenewed),
            (missing(), Leadership::Missing),
        ] {
            let (observed, duration) = observe(&[response]).await;
            assert_eq!(observed.unwrap(), expected);
            assert_eq!(duration, TIMEOUT);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_lasts_ends_the_wait_and_a_denial_at_once() {
        let (observed, duration) = observe(&[unavailable()]).await;
        assert!(error::line(&observed.unwrap_err()).ends_with("etcd has no leader"));
        assert_eq!(duration, TIMEOUT);
        let status = json!({"status": "Failure", "reason": "Forbidden", "message": "denied", "code": 403});
        let (observed, duration) = observe(&[(403, status)]).await;
        assert!(error::line(&observed.unwrap_err()).ends_with("denied"));
        assert_eq!(duration, Duration::ZERO);
    }
}
