//! Waits until a Lease is renewed, which shows that its holder works.

use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{Api, Client};
use tokio::time::{Instant, sleep};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A leader renews its Lease every 2 s by default.
const PRINT_AFTER: Duration = Duration::from_secs(5);

/// What was observed of a Lease.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Leadership {
    /// This instance has renewed or acquired it.
    Held(String),
    /// No instance has renewed it in time.
    NotRenewed,
    /// There is no such Lease.
    Missing,
}

/// Observes a Lease until it is renewed, so that the clocks of the cluster and of this machine need not agree. `waiting` is
/// printed if that takes longer than a leader needs.
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
        let lease = lease.with_context(|| format!("cannot read the Lease {namespace}/{name}"))?;
        let exists = lease.is_some();
        if let Some(renewal) = lease.and_then(|lease| renewal(lease.spec?))
            && renewal != *first.get_or_insert_with(|| renewal.clone())
        {
            return Ok(Leadership::Held(renewal.0));
        }
        let waited = start.elapsed();
        if waited >= timeout {
            return Ok(if exists {
                Leadership::NotRenewed
            } else {
                Leadership::Missing
            });
        }
        if waited >= PRINT_AFTER && !is_printed {
            println!("{waiting}");
            is_printed = true;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Which instance renewed the Lease, and when; `None` if it was released.
fn renewal(spec: LeaseSpec) -> Option<(String, Option<MicroTime>)> {
    let holder = spec.holder_identity.filter(|holder| !holder.is_empty())?;
    Some((holder, spec.renew_time))
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
        let spec = json!({"holderIdentity": holder, "renewTime": format!("2024-01-01T00:00:{second:02}.000000Z")});
        (200, json!({"metadata": {"name": "lock"}, "spec": spec}))
    }

    fn missing() -> (u16, Value) {
        let status = json!({"status": "Failure", "reason": "NotFound", "message": "not found", "code": 404});
        (404, status)
    }

    /// Observes an API server that sends these responses, then the last one again. Also returns how long that took.
    async fn observe(responses: &[(u16, Value)]) -> (Leadership, Duration) {
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
        (observed.unwrap(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_shows_the_holder() {
        let a = || Leadership::Held("a".to_owned());
        assert_eq!(observe(&[lease("a", 0), lease("a", 0), lease("a", 2)]).await.0, a());
        assert_eq!(
            observe(&[lease("b", 0), lease("a", 0)]).await.0,
            a(),
            "after another instance"
        );
        assert_eq!(
            observe(&[lease("", 0), lease("a", 1), lease("a", 2)]).await.0,
            a(),
            "after a release"
        );
        assert_eq!(
            observe(&[missing(), lease("a", 1), lease("a", 2)]).await.0,
            a(),
            "after a start"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_without_renewals_is_observed_until_the_timeout() {
        for (response, expected) in [
            (lease("a", 0), Leadership::NotRenewed),
            (lease("", 0), Leadership::NotRenewed),
            (missing(), Leadership::Missing),
        ] {
            let (observed, duration) = observe(&[response]).await;
            assert_eq!(observed, expected);
            assert_eq!(duration, TIMEOUT);
        }
    }
}
