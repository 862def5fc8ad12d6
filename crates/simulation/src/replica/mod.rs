//! A replica of a controller: its engine, its watch streams and its requests in flight.

mod job;
mod stream;

use std::time::Instant;

use slice_runtime::simulation::Response;

use crate::{
    checks::plan::SeenSlices,
    engine::{Engine, Event, Role},
    schedule::Setup,
    server::Server,
    trace::{Trace, describe_event},
};
pub(crate) use job::{Job, WriteState};
use stream::{Listing, Resume, Stream};

/// One replica. All that a crash loses is here.
pub(crate) struct Replica {
    pub(crate) role: Role,
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
    pub(crate) fn start(role: Role, setup: &Setup) -> Self {
        let streams = role.watches().into_iter().map(Stream::new);
        Self {
            role,
            engine: role.start(setup),
            streams: streams.collect(),
            jobs: Vec::new(),
            seen: SeenSlices::default(),
            epoch: 0,
            closed_until: None,
        }
    }

    /// A stream starts a list. One that is not complete is dropped. Nothing starts while the server is overloaded.
    pub(crate) fn start_list(&mut self, stream: usize, server: &Server, now: Instant) {
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
        if std::mem::replace(&mut watch.resume, Resume::Watch) == Resume::NewEpoch {
            self.engine.handle(stream, Event::NewEpoch, now);
            if stream + 1 == self.streams.len() {
                self.seen.clear();
                self.epoch += 1;
            }
        }
        let watch = &mut self.streams[stream];
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
    pub(crate) fn deliver(&mut self, stream: usize, server: &Server, now: Instant, trace: Trace) -> bool {
        if !self.streams[stream].is_started() {
            self.start_list(stream, server, now);
        }
        let is_own = stream + 1 == self.streams.len();
        let Some(event) = self.streams[stream].next(server) else {
            return false;
        };
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
        for (stream, delay) in self.engine.take_confirmations() {
            self.streams[stream].confirm_at = Some(now + delay);
        }
        true
    }

    /// A stream lists, and receives no objects.
    pub(crate) fn list_nothing(&mut self, stream: usize, server: &Server, now: Instant, trace: Trace) {
        self.start_list(stream, server, now);
        let Some(listing) = &mut self.streams[stream].listing else {
            return;
        };
        listing.objects.clear();
        listing.is_wrong = true;
        self.deliver(stream, server, now, trace);
        self.streams[stream].wrong_since.get_or_insert(now);
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

    /// When the engine or a stream continues if nothing else happens.
    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let lists = self.streams.iter().filter_map(|stream| {
            if stream.is_started() {
                stream.confirm_at
            } else {
                stream.retry_at
            }
        });
        let states = self.jobs.iter().flat_map(|job| &job.states);
        let responses = states.filter_map(|state| match state {
            WriteState::Sent { due, .. } => Some(*due),
            WriteState::Unsent | WriteState::Done { .. } => None,
        });
        let next = self.engine.next_deadline(now);
        lists.chain(responses).chain(next).min()
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
    pub(crate) fn pending(&self, now: Instant) -> Vec<(usize, usize)> {
        self.writes_with(|job, write| matches!(job.states[write], WriteState::Sent { due, .. } if due <= now))
    }

    fn writes_with(&self, condition: impl Fn(&Job, usize) -> bool) -> Vec<(usize, usize)> {
        let jobs = self.jobs.iter().enumerate();
        jobs.flat_map(|(index, job)| (0..job.writes.len()).map(move |write| (index, job, write)))
            .filter(|(_, job, write)| condition(job, *write))
            .map(|(index, _, write)| (index, write))
            .collect()
    }
}
