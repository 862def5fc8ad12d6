//! A replica of a controller: its engine, its watch streams and its requests in flight.

mod candidate;
mod clocks;
mod job;
mod stream;

use std::time::{Duration, Instant};

use slice_runtime::simulation::Response;

use crate::{
    checks::{leadership::Held, plan::SeenSlices},
    engine::{Engine, Event, Role},
    object::Resource,
    schedule::{LeaseFate, Setup},
    server::Server,
    trace::{Trace, describe_event},
};
pub(crate) use candidate::Candidate;
pub(crate) use clocks::{Clocks, Time};
pub(crate) use job::{Job, WriteState};
use stream::{Listing, Resume, Stream};

/// Where a replica runs: what a crash does not lose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The number of the replica among those of its controller.
    pub(crate) number: u8,
    /// How often it was started.
    starts: u32,
    clocks: Clocks,
}

impl Place {
    pub(crate) fn new(number: u8, start: Instant) -> Self {
        // Clocks of different machines differ.
        let offset = Duration::from_secs(3600) * number.into();
        Self {
            number,
            starts: 0,
            clocks: Clocks::new(start, offset),
        }
    }

    /// The place after the replica was started again.
    pub(crate) fn next(self) -> Self {
        Self {
            starts: self.starts + 1,
            ..self
        }
    }
}

/// What the process of a replica does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    Running,
    /// The term has ended, and its writes have not. Until then nothing else is done, and the process exits if that takes too long.
    Ending {
        term: u64,
        until: Instant,
    },
    /// As [`Ending`](Self::Ending), but at a shutdown: the lease is released, and the process started again after a pause.
    Stopping {
        until: Instant,
        fate: LeaseFate,
        pause: Duration,
    },
}

/// One replica. All that a crash loses is here.
pub(crate) struct Replica {
    pub(crate) role: Role,
    pub(crate) place: Place,
    /// None without leader election.
    pub(crate) candidate: Option<Candidate>,
    pub(crate) phase: Phase,
    /// Until when its process does nothing, in the time of the play.
    pub(crate) frozen_until: Option<Instant>,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) seen: SeenSlices,
    /// The number of times that the stream of its slices has shown that resourceVersions went back.
    pub(crate) epoch: u32,
    /// Until when the API server asked to wait.
    pub(crate) closed_until: Option<Instant>,
}

impl Replica {
    pub(crate) fn start(role: Role, setup: &Setup, place: Place, now: Instant) -> Self {
        let streams = role.watches().into_iter().map(Stream::new);
        let identity = format!("{}-{}", place.number, place.starts);
        let candidate = (setup.replicas > 1).then(|| Candidate::new(role.managed_by(), &identity));
        let mut engine = role.start(setup);
        if candidate.is_some() {
            engine.set_term(None, now);
        }
        Self {
            role,
            place,
            candidate,
            phase: Phase::Running,
            frozen_until: None,
            engine,
            streams: streams.collect(),
            jobs: Vec::new(),
            seen: SeenSlices::default(),
            epoch: 0,
            closed_until: None,
        }
    }

    pub(crate) fn clocks(&self) -> &Clocks {
        &self.place.clocks
    }

    pub(crate) fn clocks_mut(&mut self) -> &mut Clocks {
        &mut self.place.clocks
    }

    /// The resources of its streams.
    pub(crate) fn resources(&self) -> impl Iterator<Item = Resource> {
        self.streams.iter().map(|stream| stream.definition.resource)
    }

    /// The lease of a leader, also after its renew deadline.
    pub(crate) fn held(&self) -> Option<&Held> {
        let candidate = self.candidate.as_ref()?;
        candidate.held.as_ref().filter(|_| candidate.leadership.is_leading())
    }

    /// Whether it leads, or has not ended its term.
    pub(crate) fn has_term(&self) -> bool {
        let candidate = self.candidate.as_ref();
        candidate.is_none_or(|candidate| candidate.leadership.is_leading()) || self.engine.term().is_some()
    }

    /// Up to which position each stream has delivered all changes.
    pub(crate) fn delivered(&self) -> Vec<usize> {
        self.streams.iter().map(|stream| stream.delivered).collect()
    }

    fn term(&self, time: Time) -> Option<u64> {
        self.candidate.as_ref()?.leadership.term(time.lease)
    }

    /// Reads the version that a stream has to reach in a new term. Returns whether there is one.
    fn read_target(&mut self, stream: usize, server: &Server, time: Time) -> bool {
        let term = self.term(time);
        let (is_new, caught_up) = self.streams[stream].read_target(term, server);
        self.emit_caught_up(stream, caught_up, time);
        is_new
    }

    fn emit_caught_up(&mut self, stream: usize, term: Option<u64>, time: Time) {
        if let Some(term) = term {
            self.engine.handle(stream, Event::CaughtUp(term), time.now);
        }
    }

    /// A stream starts a list. One that is not complete is dropped. Nothing starts while the server is overloaded.
    pub(crate) fn start_list(&mut self, stream: usize, server: &Server, time: Time) {
        let now = time.now;
        let watch = &mut self.streams[stream];
        if let Some(overload) = server.overload {
            watch.confirm_at = watch.confirm_at.map(|at| at.max(now + overload.delay()));
            if watch.retry_at.is_none_or(|retry_at| retry_at <= now) {
                self.fail_list(stream, now);
                self.streams[stream].retry_at = Some(now + overload.delay());
                self.engine
                    .handle(stream, Event::Overloaded(overload.retry_after()), now);
                self.close_gate(now + overload.delay());
            }
            return;
        }
        watch.retry_at = None;
        watch.confirm_at = None;
        if std::mem::replace(&mut watch.resume, Resume::List) == Resume::NewEpoch {
            watch.catch_up.start_epoch();
            self.engine.handle(stream, Event::NewEpoch, now);
            if stream + 1 == self.streams.len() {
                self.seen.clear();
                self.epoch += 1;
            }
        }
        self.streams[stream].listing = None;
        self.read_target(stream, server, time);
        let watch = &mut self.streams[stream];
        watch.resume = Resume::Watch;
        let objects = server.list(watch.definition.resource);
        watch.listing = Some(Listing {
            objects: objects
                .filter(|object| watch.definition.selects(object))
                .cloned()
                .collect(),
            version: server.version(),
            is_wrong: false,
        });
        watch.position = server.position(watch.definition.resource);
        self.engine.handle(stream, Event::Init, now);
    }

    /// The list of a stream fails, if there is one.
    pub(crate) fn fail_list(&mut self, stream: usize, now: Instant) {
        if self.streams[stream].listing.take().is_some() {
            self.streams[stream].resume = Resume::List;
            self.engine.handle(stream, Event::InitFailed, now);
        }
    }

    /// The API server asked to wait until then.
    pub(crate) fn close_gate(&mut self, until: Instant) {
        self.closed_until = self.closed_until.max(Some(until));
    }

    /// A stream delivers its next event. Returns whether there is one.
    pub(crate) fn deliver(&mut self, stream: usize, server: &Server, time: Time, trace: Trace) -> bool {
        let now = time.now;
        let is_new = self.streams[stream].is_watching() && self.read_target(stream, server, time);
        if !self.streams[stream].is_started() {
            self.start_list(stream, server, time);
        }
        let is_own = stream + 1 == self.streams.len();
        let Some(event) = self.streams[stream].next(server) else {
            let caught_up = self.streams[stream].bookmark(server);
            self.emit_caught_up(stream, caught_up, time);
            return is_new || caught_up.is_some();
        };
        let caught_up = self.streams[stream].caught_up(&event);
        if is_own {
            match &event {
                Event::Apply(object) => self.seen.apply(object.metadata()),
                Event::Undecodable(object) => self.seen.undecodable(object),
                Event::Delete(object) => self.seen.delete(object),
                _ => {}
            }
        }
        trace.print(|| format!("stream {stream}: {}", describe_event(&event)));
        self.engine.handle(stream, event, now);
        self.emit_caught_up(stream, caught_up, time);
        for (stream, delay) in self.engine.take_confirmations() {
            self.streams[stream].confirm_at = Some(now + delay);
        }
        true
    }

    /// A stream lists, and receives no objects.
    pub(crate) fn list_nothing(&mut self, stream: usize, server: &Server, time: Time, trace: Trace) {
        self.start_list(stream, server, time);
        let Some(listing) = &mut self.streams[stream].listing else {
            return;
        };
        listing.objects.clear();
        listing.is_wrong = true;
        self.deliver(stream, server, time, trace);
        self.streams[stream].wrong_since.get_or_insert(time.now);
    }

    /// Whether a stream is due to list.
    pub(crate) fn is_list_due(&self, stream: usize, now: Instant) -> bool {
        let stream = &self.streams[stream];
        !stream.is_started() || stream.is_watching() && stream.confirm_at.is_some_and(|at| at <= now)
    }

    /// Whether a list was complete on each stream.
    pub(crate) fn is_synced(&self) -> bool {
        self.streams.iter().all(|stream| stream.synced)
    }

    /// The server was restored from an older copy: no stream continues, and no response arrives. A reflector notices that
    /// versions went back if it has a complete list.
    pub(crate) fn on_restore(&mut self, now: Instant) {
        self.seen.clear();
        for index in 0..self.streams.len() {
            self.fail_list(index, now);
            let stream = &mut self.streams[index];
            stream.resume = if stream.synced { Resume::NewEpoch } else { Resume::List };
            stream.position = 0;
            stream.delivered = 0;
        }
        if let Some(candidate) = &mut self.candidate {
            candidate.on_restore();
        }
        for state in self.jobs.iter_mut().flat_map(|job| &mut job.states) {
            if let WriteState::Sent { response, .. } = state {
                *response = Some(Response::Timeout);
            }
        }
    }

    /// Whether no event, list or write is pending.
    pub(crate) fn is_idle(&self, server: &Server) -> bool {
        let has_events = |stream: &Stream| {
            let changes = server.changes(stream.definition.resource, stream.position);
            changes.iter().any(|change| stream.definition.event(change).is_some())
        };
        self.jobs.is_empty()
            && self
                .streams
                .iter()
                .all(|stream| stream.is_watching() && !has_events(stream))
    }

    /// After which time the engine, a stream or a write continues if nothing else happens.
    pub(crate) fn next_deadline(&self, time: Time) -> Option<Duration> {
        let next = match self.phase {
            Phase::Running => self.next_event(time.now),
            // At a shutdown without writes, only the candidate has a request in flight.
            Phase::Stopping { .. } if self.jobs.is_empty() => None,
            Phase::Ending { until, .. } | Phase::Stopping { until, .. } => Some(until),
        };
        let next = next.into_iter().chain(self.next_response()).min();
        next.map(|next| next.saturating_duration_since(time.now))
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let lists = self.streams.iter().filter_map(|stream| {
            if stream.is_started() {
                stream.confirm_at
            } else {
                stream.retry_at
            }
        });
        let next = self.engine.next_deadline(now);
        lists.chain(next).min()
    }

    fn next_response(&self) -> Option<Instant> {
        let lost_at = self.candidate.as_ref().and_then(Candidate::lost_at);
        let states = self.jobs.iter().flat_map(|job| &job.states);
        let responses = states.filter_map(|state| match state {
            WriteState::Sent { due, .. } => Some(lost_at.map_or(*due, |lost_at| lost_at.min(*due))),
            WriteState::Unsent | WriteState::Done { .. } => None,
        });
        responses.min()
    }

    /// Whether writes of other namespaces than this one have no response yet.
    pub(crate) fn hangs_outside(&self, namespace: &str, now: Instant) -> bool {
        let jobs = self.jobs.iter().filter(|job| &*job.key.namespace != namespace);
        let mut states = jobs.flat_map(|job| &job.states);
        states.any(|state| matches!(state, WriteState::Sent { due, .. } if *due > now))
    }

    /// Whether a plan and the stored slices are of the same epoch. Else their versions may be equal by chance.
    pub(crate) fn is_of_epoch(&self, job: &Job) -> bool {
        job.epoch == self.epoch && self.streams.last().is_some_and(|own| !own.is_outdated())
    }

    /// The writes that can be sent, as indexes of job and write.
    pub(crate) fn sendable(&self) -> Vec<(usize, usize)> {
        self.writes_with(|job, write| matches!(job.states[write], WriteState::Unsent) && job.is_unblocked(write))
    }

    /// The writes whose response is due, as indexes of job and write.
    pub(crate) fn pending(&self, time: Time) -> Vec<(usize, usize)> {
        let is_lost = self.is_lost(time);
        let is_due = |state: &WriteState| matches!(state, WriteState::Sent { due, .. } if *due <= time.now || is_lost);
        self.writes_with(|job, write| is_due(&job.states[write]))
    }

    /// Whether writes wait for no response any more, because the lease was lost.
    pub(crate) fn is_lost(&self, time: Time) -> bool {
        let candidate = self.candidate.as_ref();
        candidate.is_some_and(|candidate| candidate.is_lost(time))
    }

    /// Whether a write may be sent.
    pub(crate) fn may_send(&self, time: Time) -> bool {
        self.candidate.is_none() || self.term(time).is_some()
    }

    fn writes_with(&self, condition: impl Fn(&Job, usize) -> bool) -> Vec<(usize, usize)> {
        let jobs = self.jobs.iter().enumerate();
        jobs.flat_map(|(index, job)| (0..job.writes.len()).map(move |write| (index, job, write)))
            .filter(|(_, job, write)| condition(job, *write))
            .map(|(index, _, write)| (index, write))
            .collect()
    }
}
