//! The engine without reflectors and writers, for the crate `simulation` of this repository. No stable interface.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::client::Body;
use slice_controller::{Controller, Decoded, Key, ObjectRef, WriteError};
use slice_reconciler::{Operation, Write};

use crate::{
    admission,
    api::{SliceApi, WriteResult},
    client::ApiClient,
    engine::{Engine, EngineConfig},
    leader_election::{Elector, LeaseTime, Published},
    metrics::Metrics,
    run::{LOSS_GRACE, REQUEST_TIMEOUT, SHUTDOWN_GRACE},
    watch::{CatchUp, WatchEvent},
};

/// The time after which a write without a response fails.
pub const WRITE_TIMEOUT: Duration = REQUEST_TIMEOUT;
/// The time for writes in flight at shutdown.
pub const STOP_TIMEOUT: Duration = SHUTDOWN_GRACE;
/// The time for writes in flight after the lease was lost, when the process exits.
pub const LOSS_TIMEOUT: Duration = LOSS_GRACE;

/// The configuration of an engine.
#[derive(Clone, Debug)]
pub struct SimulationConfig {
    /// Value of the managed-by label on its slices.
    pub managed_by: &'static str,
    /// Maximum number of keys with writes in flight.
    pub concurrency: NonZeroUsize,
    /// The delay after another writer changed a slice.
    pub foreign_change_delay: Duration,
    /// Up to this number, a relist removes endpoints without confirmation.
    pub unconfirmed_removals: usize,
    /// The seed of jitter.
    pub seed: u64,
}

/// A watch event.
#[derive(Clone, Debug)]
pub enum SimulatedEvent<O> {
    /// resourceVersions went back. A list follows.
    NewEpoch,
    /// A list starts.
    Init,
    /// An object was created or updated, or is part of a list.
    Apply(Decoded<O>),
    /// An object was deleted.
    Delete(ObjectRef),
    /// The list is complete, at this resourceVersion.
    InitDone(u64),
    /// The list failed before it was complete.
    InitFailed,
    /// An object exists, but this version of it cannot be decoded.
    Undecodable(ObjectRef),
    /// A list was rejected because the API server is overloaded, with this `Retry-After`.
    Overloaded(Option<Duration>),
    /// All events were emitted up to a version that was read after this term of leadership began.
    CaughtUp(u64),
}

impl<O> From<SimulatedEvent<O>> for WatchEvent<O> {
    fn from(event: SimulatedEvent<O>) -> Self {
        match event {
            SimulatedEvent::NewEpoch => Self::NewEpoch,
            SimulatedEvent::Init => Self::Init,
            SimulatedEvent::Apply(decoded) => Self::Apply(decoded),
            SimulatedEvent::Delete(object) => Self::Delete(object),
            SimulatedEvent::InitDone(version) => Self::InitDone {
                version: version.to_string().into(),
            },
            SimulatedEvent::InitFailed => Self::InitFailed,
            SimulatedEvent::Undecodable(object) => Self::Undecodable(object),
            SimulatedEvent::Overloaded(retry_after) => Self::Overloaded { retry_after },
            SimulatedEvent::CaughtUp(term) => Self::CaughtUp { term },
        }
    }
}

/// The response to a write.
#[derive(Clone, Debug)]
pub enum Response {
    /// The slice as stored.
    Stored(Box<EndpointSlice>),
    /// The slice was deleted, or did not exist.
    Deleted,
    /// A precondition failed, the name exists, or the slice to update does not. The live slice, if there is one.
    Conflict(Option<Box<EndpointSlice>>),
    /// As [`Conflict`](Self::Conflict), but the live slice cannot be decoded.
    UndecodableConflict(Box<ObjectRef>),
    /// An error response, whose meaning is up to the API client.
    Error {
        /// The status code.
        code: u16,
        /// Seconds in `Retry-After`.
        retry_after: Option<u64>,
        /// The body.
        body: &'static str,
    },
    /// No response.
    Timeout,
    /// Not sent, or no response was waited for, because the lease was lost.
    LeaseLost,
    /// Not sent, because a write that it depends on failed.
    DependencyFailed,
}

impl Response {
    fn into_result(self, key: &Key, operation: &Operation, probe: bool) -> WriteResult {
        match self {
            Self::Stored(slice) => WriteResult::Stored(slice),
            Self::Deleted => WriteResult::Deleted,
            Self::Conflict(live) => WriteResult::Conflict(live),
            Self::UndecodableConflict(live) => WriteResult::UndecodableConflict(live),
            Self::DependencyFailed => WriteResult::DependencyFailed,
            Self::Timeout => WriteResult::Failed {
                error: WriteError::Timeout(REQUEST_TIMEOUT),
                retry_after: None,
            },
            Self::LeaseLost => WriteResult::Failed {
                error: WriteError::LeaseLost,
                retry_after: None,
            },
            Self::Error {
                code,
                retry_after,
                body,
            } => error_result(key, operation, (code, retry_after, body), probe),
        }
    }
}

/// What the API client makes of an error response to a write.
fn error_result(
    key: &Key,
    operation: &Operation,
    (code, retry_after, body): (u16, Option<u64>, &'static str),
    probe: bool,
) -> WriteResult {
    let respond = move |_: http::Request<Body>| {
        let mut response = http::Response::builder().status(code);
        if let Some(seconds) = retry_after {
            response = response.header(http::header::RETRY_AFTER, seconds);
        }
        std::future::ready(response.body(Body::from(body.as_bytes().to_vec())))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime without I/O starts");
    runtime.block_on(async {
        let client = kube::Client::new(tower::service_fn(respond), "default");
        let api = SliceApi {
            client: ApiClient::new(client.into(), REQUEST_TIMEOUT, None),
        };
        api.write(&key.namespace, operation, probe).await
    })
}

/// A plan of the engine.
#[derive(Debug)]
pub struct Plan {
    /// The key.
    pub key: Key,
    /// Its writes.
    pub writes: Vec<Write>,
    /// Whether the writes are dry runs.
    pub probe: bool,
}

/// What a writer does after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextWrites {
    /// Whether to send the writes that depend on this one.
    pub dependents: bool,
    /// Whether to send any other write of the plan.
    pub others: bool,
}

/// An engine, its time and its I/O under the control of the caller.
pub struct SimulatedEngine<C: Controller> {
    engine: Engine<C>,
}

impl<C: Controller> std::fmt::Debug for SimulatedEngine<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulatedEngine").finish_non_exhaustive()
    }
}

impl<C: Controller> SimulatedEngine<C> {
    /// An engine without objects.
    #[must_use]
    pub fn new(controller: C, config: &SimulationConfig) -> Self {
        let watches = controller.watches().iter().map(|spec| spec.id).collect();
        let config = EngineConfig {
            managed_by: config.managed_by.to_owned(),
            concurrency: config.concurrency,
            foreign_change_delay: config.foreign_change_delay,
            unconfirmed_removals: config.unconfirmed_removals,
            dry_run: false,
            random: fastrand::Rng::with_seed(config.seed),
        };
        let metrics = Arc::new(Metrics::new("simulation", "simulation"));
        Self {
            engine: Engine::new(controller, watches, config, metrics),
        }
    }

    /// Handles an event of a watch of the controller, given by its index.
    pub fn handle_event(&mut self, watch: usize, event: SimulatedEvent<C::Object>, now: Instant) {
        self.engine.handle_event(watch, event.into(), now);
    }

    /// Handles an event of the watch of its own slices.
    pub fn handle_slice_event(&mut self, event: SimulatedEvent<EndpointSlice>, now: Instant) {
        self.engine.handle_slice_event(event.into(), now);
    }

    /// Syncs all due keys within the concurrency limit.
    pub fn process_due(&mut self, now: Instant, time: Timestamp) -> Vec<Plan> {
        let jobs = self.engine.process_due(usize::MAX, now, time).jobs;
        jobs.into_iter()
            .map(|job| Plan {
                key: job.key,
                writes: job.writes,
                probe: job.probe,
            })
            .collect()
    }

    /// Reports the response to a write of a plan, as the API client reads it.
    pub fn on_response(
        &mut self,
        plan: (&Key, bool),
        (write, operation): (usize, &Operation),
        response: Response,
        now: Instant,
    ) -> NextWrites {
        let (key, probe) = plan;
        let result = response.into_result(key, operation, probe);
        let next = NextWrites {
            dependents: matches!(result, WriteResult::Stored(_) | WriteResult::Deleted),
            others: !admission::Response::of(&result).is_some_and(admission::Response::ends_plan),
        };
        self.engine.on_write_result(key, write, result, now);
        next
    }

    /// All writes of a plan have a response.
    pub fn on_writes_done(&mut self, key: &Key, now: Instant) {
        self.engine.on_writes_done(key, now);
    }

    /// Takes the requests for lists that confirm another one, as indexes of watches and delays.
    pub fn take_confirmations(&mut self) -> Vec<(usize, Duration)> {
        let requests = self.engine.take_confirmations().into_iter();
        requests.map(|(watch, request)| (watch, request.delay)).collect()
    }

    /// Enqueues all keys.
    pub fn resync(&mut self, now: Instant) {
        self.engine.resync_all(now);
    }

    /// When to call [`process_due`](Self::process_due) if no event arrives before.
    #[must_use]
    pub fn next_deadline(&self, now: Instant) -> Option<Instant> {
        self.engine.next_deadline(now)
    }

    /// The number of keys that are queued or in flight.
    #[must_use]
    pub fn queue_len(&self) -> usize {
        self.engine.queue_len()
    }

    /// The keys that are due and wait for a slot; none while requests are held back because the API server rejects them.
    #[must_use]
    pub fn waiting_keys(&self, now: Instant) -> Vec<Key> {
        if self.engine.gate_closed_until(now).is_some() {
            return Vec::new();
        }
        self.engine.ready_keys().cloned().collect()
    }

    /// The term of leadership; that of an engine without leader election is 0.
    #[must_use]
    pub fn term(&self) -> Option<u64> {
        self.engine.term()
    }

    /// This instance became the leader, or does not lead.
    pub fn set_term(&mut self, term: Option<u64>, now: Instant) {
        self.engine.set_term(term, now);
    }

    /// Whether keys may be synced.
    #[must_use]
    pub fn may_sync(&self) -> bool {
        self.engine.may_sync()
    }

    /// Whether a key is queued or in flight.
    #[must_use]
    pub fn is_queued(&self, key: &Key) -> bool {
        self.engine.is_queued(key)
    }
}

/// What a candidate last published about its leadership.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulatedLeadership(Published);

impl SimulatedLeadership {
    /// Publishes the term of a candidate, or its end.
    pub fn publish(&mut self, elector: &Elector, now: LeaseTime) {
        let terms = elector.terms();
        self.0 = elector
            .term(now)
            .map_or(Published::Standby { terms }, Published::Leading);
    }

    /// Whether a term was published last. It may have ended since.
    #[must_use]
    pub fn is_leading(self) -> bool {
        matches!(self.0, Published::Leading(_))
    }

    /// The number of the term: without one, nothing is sent.
    #[must_use]
    pub fn term(self, now: LeaseTime) -> Option<u64> {
        self.0.term(now).map(|term| term.number)
    }

    /// The number of the last term, which may have ended.
    #[must_use]
    pub fn last_term(self) -> u64 {
        self.0.last_term()
    }

    /// How long requests in flight wait for a response, unless the lease is renewed.
    #[must_use]
    pub fn remaining(self, now: LeaseTime) -> Option<Duration> {
        self.0.term(now).map(|term| term.deadline.since(now))
    }
}

/// Which term a watch has to catch up with.
#[derive(Debug, Default)]
pub struct SimulatedCatchUp(CatchUp);

impl SimulatedCatchUp {
    /// The present term, if no version has been read in it yet.
    #[must_use]
    pub fn unread_term(&self, term: Option<u64>) -> Option<u64> {
        self.0.unread_term(term)
    }

    /// This version was read in a term.
    pub fn set_target(&mut self, term: u64, version: u64) {
        self.0.set_target(term, &version.to_string());
    }

    /// Whether a version has to be reached.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.0.is_pending()
    }

    /// The watch has reached this version. Returns the term with which it has caught up by that.
    pub fn advance(&mut self, version: u64) -> Option<u64> {
        self.0.advance(Some(&version.to_string()))
    }

    /// A list is complete. Returns the term with which the watch has caught up by that.
    pub fn complete_list(&mut self) -> Option<u64> {
        self.0.complete_list()
    }

    /// resourceVersions went back.
    pub fn start_epoch(&mut self) {
        self.0.start_epoch();
    }
}
