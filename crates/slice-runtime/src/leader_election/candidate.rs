//! The task that acquires, renews and releases the lease.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ObjectReference};
use kube::{
    Resource as _,
    core::{
        Request,
        params::{GetParams, PostParams},
        request::Error,
    },
};
use slice_controller::{ErrorChain, Event, EventSpec};
use slice_core::EventType;
use tokio::sync::{oneshot, watch};

use super::{Elector, LeaderElection, Leadership, LeaseClock, LeaseTime, Step, leadership::Published};
use crate::{
    client::{ApiClient, Connections, Purpose, RequestError},
    escape::Escaped,
    failure_log::FailureLog,
    health::{ElectionState, Health},
    metrics::Metrics,
};

/// The event of leader election.
pub(crate) static LEADER_ELECTION: EventSpec = EventSpec {
    reason: "LeaderElection",
    event_type: EventType::Normal,
    help: "An instance became the leader, or stopped leading and releases the lease; on the Lease",
};

/// Acquires and renews the lease, and publishes the term.
struct Candidate {
    elector: Elector,
    config: LeaderElection,
    api: ApiClient,
    clock: LeaseClock,
    published: watch::Sender<Published>,
    leadership: Leadership,
    /// The last term whose writes have all ended.
    ended_term: watch::Receiver<u64>,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    failures: FailureLog,
    /// The holder in the last log line.
    logged_holder: Option<String>,
    /// Whether the last request had no response in time: its connection may be broken.
    timed_out: bool,
}

/// A running candidate.
pub(crate) struct Candidacy {
    config: LeaderElection,
    pub(crate) leadership: Leadership,
    ended_term: watch::Sender<u64>,
    release: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Candidacy {
    /// A candidate, and its task, which the caller spawns. Others wait until the lease expires if the task ends without a release.
    pub(crate) fn new(
        connections: Connections,
        config: LeaderElection,
        clock: LeaseClock,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (published, state) = watch::channel(Published::default());
        let leadership = Leadership {
            published: state,
            clock: clock.clone(),
        };
        let (ended_term, ended_terms) = watch::channel(0);
        let (release, released) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        metrics.leading(&config.name, false);
        let candidate = Candidate {
            elector: Elector::new(config.clone()),
            config: config.clone(),
            // Without a rate limit: renewals must not wait. As in client-go, two requests fit into the renew deadline.
            api: ApiClient::new(connections, config.renew_deadline / 2, None).with_metrics(Arc::clone(&metrics)),
            clock,
            leadership: leadership.clone(),
            published,
            ended_term: ended_terms,
            metrics,
            health,
            failures: FailureLog::default(),
            logged_holder: None,
            timed_out: false,
        };
        let task = async move {
            candidate.run(released).await;
            // An error: the runner has ended.
            let _ = end.send(());
        };
        let candidacy = Self {
            config,
            leadership,
            ended_term,
            release,
            ended,
        };
        (candidacy, task)
    }

    /// An event on the Lease about this instance.
    pub(crate) fn event(&self, change: &str) -> Event {
        Event {
            regarding: ObjectReference {
                api_version: Some(Lease::api_version(&()).into_owned()),
                kind: Some(Lease::kind(&()).into_owned()),
                namespace: Some(self.config.namespace.clone()),
                name: Some(self.config.name.clone()),
                ..ObjectReference::default()
            },
            event_type: LEADER_ELECTION.event_type,
            reason: LEADER_ELECTION.reason.into(),
            message: format!("{} {change}", self.config.identity),
        }
    }

    /// All writes of this term and earlier ones have ended, so that the lease may be acquired again.
    pub(crate) fn end_term(&self, term: u64) {
        self.ended_term.send_if_modified(|ended| {
            let is_later = *ended < term;
            *ended = term.max(*ended);
            is_later
        });
    }

    /// Releases the lease if it is held, and ends the task. Call it when no write is in flight.
    pub(crate) async fn release(self) {
        if self.release.send(()).is_err() || self.ended.await.is_err() {
            // The task has panicked, which ends the runner.
            std::future::pending::<()>().await;
        }
    }
}

impl Candidate {
    /// Runs until the lease is to be released. If the runner has ended without that, as after a panic, the lease expires.
    async fn run(mut self, mut release: oneshot::Receiver<()>) {
        let is_released = loop {
            self.elector.expire(self.clock.now());
            self.publish();
            let now = self.clock.now();
            let step = match self.elector.step(now, Timestamp::now()) {
                Step::Wait(until) => {
                    if *self.published.borrow() == Published::Undecided {
                        self.published.send_replace(Published::Standby {
                            terms: self.elector.terms(),
                        });
                    }
                    // Not beyond the renew deadline, when the term ends.
                    let until = self.elector.term(now).map_or(until, |term| until.min(term.deadline));
                    tokio::select! {
                        () = tokio::time::sleep(until.since(now)) => continue,
                        released = &mut release => break released.is_ok(),
                    }
                }
                step => step,
            };
            let ended_term = *self.ended_term.borrow();
            if self.elector.waits_for_writes(now, ended_term) {
                tokio::select! {
                    _ = self.ended_term.changed() => continue,
                    released = &mut release => break released.is_ok(),
                }
            }
            self.take(step, now).await;
        };
        if is_released {
            self.release().await;
        }
    }

    /// Sends the request of a step.
    async fn take(&mut self, step: Step, sent_at: LeaseTime) {
        let random = fastrand::f64();
        let result = match step {
            Step::Wait(_) => return,
            Step::Read => match self.read().await {
                Ok(lease) => {
                    self.elector.on_read(lease, self.clock.now(), random);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Step::Create(lease) => self.write(self.create_request(&lease), sent_at, random).await,
            Step::Replace(lease) => self.write(self.replace_request(&lease), sent_at, random).await,
        };
        self.timed_out = matches!(result, Err(RequestError::Timeout(_) | RequestError::LeaseLost));
        match result {
            Ok(()) => {
                self.failures.reset();
                self.health.set_election(self.state());
            }
            Err(error) => {
                self.elector.on_failed(self.clock.now(), random);
                self.log_failure(&error);
            }
        }
    }

    fn state(&self) -> ElectionState {
        if self.elector.term(self.clock.now()).is_some() {
            ElectionState::Leading
        } else {
            ElectionState::StandingBy(self.elector.holder().map(|holder| Escaped(holder).to_string()))
        }
    }

    async fn read(&self) -> Result<Option<Lease>, RequestError> {
        let request = self.requests().get(&self.config.name, &GetParams::default());
        match self.api().call(request).await {
            Ok(body) => Ok(Some(decode(&body)?)),
            Err(RequestError::Api(error)) if error.code == StatusCode::NOT_FOUND && error.is("NotFound") => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn write(
        &mut self,
        request: Result<http::Request<Vec<u8>>, Error>,
        sent_at: LeaseTime,
        random: f64,
    ) -> Result<(), RequestError> {
        let lease = decode(&self.api().call(request).await?)?;
        self.elector.on_written(lease, sent_at, self.clock.now(), random);
        Ok(())
    }

    /// The client: with a new connection after a request that had no response. A leader waits for no response after the renew
    /// deadline, so that the end of its term is published at once.
    fn api(&self) -> ApiClient {
        let purpose = if self.timed_out {
            Purpose::Confirm
        } else {
            Purpose::Control
        };
        let leads = self.elector.term(self.clock.now()).is_some();
        self.api
            .with_purpose(purpose)
            .for_leader(leads.then(|| self.leadership.clone()))
    }

    fn requests(&self) -> Request {
        Request::new(Lease::url_path(&(), Some(&self.config.namespace)))
    }

    fn create_request(&self, lease: &Lease) -> Result<http::Request<Vec<u8>>, Error> {
        let body = serde_json::to_vec(lease).map_err(Error::SerializeBody)?;
        self.requests().create(&PostParams::default(), body)
    }

    fn replace_request(&self, lease: &Lease) -> Result<http::Request<Vec<u8>>, Error> {
        let body = serde_json::to_vec(lease).map_err(Error::SerializeBody)?;
        self.requests().replace(&self.config.name, &PostParams::default(), body)
    }

    /// Publishes a change of the term or of its deadline.
    fn publish(&mut self) {
        let (before, terms) = (*self.published.borrow(), self.elector.terms());
        let state = match self.elector.term(self.clock.now()) {
            Some(term) => Published::Leading(term),
            None if before == Published::Undecided && terms == 0 => Published::Undecided,
            None => Published::Standby { terms },
        };
        if state == before {
            self.log_holder();
            return;
        }
        self.published.send_replace(state);
        let lease = Escaped(&self.config).to_string();
        match (before, state) {
            (Published::Leading(_), Published::Leading(_)) => return,
            (_, Published::Leading(_)) => {
                tracing::info!(lease, identity = self.config.identity, "became the leader");
            }
            (Published::Leading(_), _) => {
                let holder = self.elector.holder().map(|holder| Escaped(holder).to_string());
                tracing::warn!(
                    lease,
                    holder,
                    "lost the lease: another instance holds it, or it could not be renewed in time"
                );
            }
            _ => {}
        }
        self.metrics
            .leading(&self.config.name, matches!(state, Published::Leading(_)));
        self.log_holder();
    }

    /// Logs which other instance leads, when that has changed.
    fn log_holder(&mut self) {
        let holder = self.elector.holder().map(ToOwned::to_owned);
        if holder != self.logged_holder {
            if let Some(other) = holder.as_ref().filter(|holder| **holder != self.config.identity) {
                tracing::info!(lease = %Escaped(&self.config), holder = %Escaped(other), "another instance leads; standing by");
            }
            self.logged_holder = holder;
        }
    }

    fn log_failure(&mut self, error: &RequestError) {
        // Another instance was faster.
        if error
            .api_error()
            .is_some_and(|error| error.code == StatusCode::CONFLICT)
        {
            return;
        }
        let error = Escaped(ErrorChain(error)).to_string();
        self.health.set_election(ElectionState::Failed(error.clone()));
        let now = tokio::time::Instant::now().into_std();
        if let Some(not_logged) = self.failures.record(&error, now) {
            tracing::warn!(
                lease = %Escaped(&self.config),
                error,
                not_logged = (not_logged > 0).then_some(not_logged),
                "cannot acquire or renew the lease, retrying; check the permission to get, create and update it"
            );
        }
    }

    /// Releases the lease at shutdown, so that another instance need not wait until it expires.
    async fn release(mut self) {
        let released = self.elector.release(self.clock.now(), Timestamp::now());
        self.publish();
        let Some(lease) = released else { return };
        match self.api().call(self.replace_request(&lease)).await {
            Ok(_) => tracing::info!(lease = %Escaped(&self.config), "released the lease"),
            Err(error) => {
                let error = Escaped(ErrorChain(&error)).to_string();
                tracing::warn!(lease = %Escaped(&self.config), error, "cannot release the lease; it expires by itself");
            }
        }
    }
}

fn decode(body: &[u8]) -> Result<Lease, RequestError> {
    serde_json::from_slice(body).map_err(RequestError::transport)
}
