//! One controller of a play: its engine, its watch streams and its plans in execution.

use std::{collections::VecDeque, time::Instant};

use slice_controller::Key;
use slice_core::well_known::MANAGED_BY_LABEL;
use slice_reconciler::{Operation, Write};
use slice_runtime::simulation::{Plan, Response};

use crate::{
    checks::plan::SeenSlices,
    engine::{Engine, Event, Role, WatchDef},
    object::{Object, label},
    schedule::Setup,
    server::{Change, Server},
    trace::{Trace, describe_event},
};

pub(crate) struct Controller {
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

/// A watch stream.
#[derive(Debug)]
pub(crate) struct Stream {
    definition: WatchDef,
    /// The index of the next change in the log of the server.
    position: usize,
    listing: Option<Listing>,
    /// Whether a list was complete.
    pub(crate) synced: bool,
    pub(crate) held: bool,
    resume: Resume,
    /// When the next list may start, after one was rejected.
    retry_at: Option<Instant>,
}

/// How a stream continues that is not listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    Watch,
    /// It has not listed, or its list failed.
    List,
    /// resourceVersions went back: the watch is silent until the stream lists again.
    NewEpoch,
}

/// A list that is not delivered completely.
#[derive(Debug)]
struct Listing {
    objects: VecDeque<Object>,
    version: u64,
}

/// A plan in execution.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) writes: Vec<Write>,
    pub(crate) states: Vec<WriteState>,
    /// Whether the writes are dry runs.
    pub(crate) probe: bool,
    /// The epoch in which it was planned.
    pub(crate) epoch: u32,
    /// Whether the engine must requeue the key.
    pub(crate) failed: bool,
    /// Whether no further write is sent.
    pub(crate) ended: bool,
}

#[derive(Debug)]
pub(crate) enum WriteState {
    Unsent,
    /// The response is pending; none if the live slice is read first.
    Sent(Option<Response>),
    Done {
        success: bool,
    },
}

impl Controller {
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
        true
    }

    /// Whether a list was complete on each stream.
    pub(crate) fn is_synced(&self) -> bool {
        self.streams.iter().all(|stream| stream.synced)
    }

    /// The server was restored from an older copy: no stream continues, and no response arrives.
    pub(crate) fn on_restore(&mut self) {
        self.seen.clear();
        for stream in &mut self.streams {
            if stream.is_started() {
                stream.resume = Resume::NewEpoch;
            }
            stream.listing = None;
            stream.position = 0;
        }
        for state in self.jobs.iter_mut().flat_map(|job| &mut job.states) {
            if let WriteState::Sent(response) = state {
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
        let waiting = self.streams.iter().filter(|stream| !stream.is_started());
        let retries = waiting.filter_map(|stream| stream.retry_at);
        retries.chain(self.engine.next_deadline(now)).min()
    }

    /// The writes that can be sent, as indexes of job and write.
    pub(crate) fn sendable(&self) -> Vec<(usize, usize)> {
        self.writes_with(|job, write| matches!(job.states[write], WriteState::Unsent) && job.is_unblocked(write))
    }

    /// The writes whose response is pending, as indexes of job and write.
    pub(crate) fn pending(&self) -> Vec<(usize, usize)> {
        self.writes_with(|job, write| matches!(job.states[write], WriteState::Sent(_)))
    }

    fn writes_with(&self, condition: impl Fn(&Job, usize) -> bool) -> Vec<(usize, usize)> {
        let jobs = self.jobs.iter().enumerate();
        jobs.flat_map(|(index, job)| (0..job.writes.len()).map(move |write| (index, job, write)))
            .filter(|(_, job, write)| condition(job, *write))
            .map(|(index, _, write)| (index, write))
            .collect()
    }
}

impl Job {
    pub(crate) fn new(plan: Plan, epoch: u32) -> Self {
        let states = plan.writes.iter().map(|_| WriteState::Unsent).collect();
        Self {
            key: plan.key,
            writes: plan.writes,
            states,
            probe: plan.probe,
            epoch,
            failed: false,
            ended: false,
        }
    }

    pub(crate) fn operation(&self, write: usize) -> &Operation {
        &self.writes[write].operation
    }

    /// Whether all dependencies of a write have a result.
    fn is_unblocked(&self, write: usize) -> bool {
        let mut dependencies = self.writes[write].depends_on.iter();
        dependencies.all(|index| matches!(self.states[*index], WriteState::Done { .. }))
    }

    /// Whether a write is not sent: a dependency failed, or the plan ended.
    pub(crate) fn is_skipped(&self, write: usize) -> bool {
        let mut dependencies = self.writes[write].depends_on.iter();
        self.ended || dependencies.any(|index| matches!(self.states[*index], WriteState::Done { success: false }))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.states.iter().all(|state| matches!(state, WriteState::Done { .. }))
    }
}

impl Stream {
    fn new(definition: WatchDef) -> Self {
        Self {
            definition,
            position: 0,
            listing: None,
            synced: false,
            held: false,
            resume: Resume::List,
            retry_at: None,
        }
    }

    /// Whether the stream watches or is listing.
    pub(crate) fn is_started(&self) -> bool {
        self.listing.is_some() || self.resume == Resume::Watch
    }

    fn is_watching(&self) -> bool {
        self.listing.is_none() && self.resume == Resume::Watch
    }

    fn next(&mut self, server: &Server) -> Option<Event> {
        if let Some(listing) = &mut self.listing {
            if let Some(object) = listing.objects.pop_front() {
                return Some(applied(object));
            }
            let event = Event::InitDone(listing.version);
            self.listing = None;
            self.synced = true;
            return Some(event);
        }
        if !self.is_watching() {
            return None;
        }
        for change in server.changes(self.definition.resource, self.position) {
            self.position += 1;
            if let Some(event) = self.definition.event(change) {
                return Some(event);
            }
        }
        None
    }
}

impl WatchDef {
    fn selects(&self, object: &Object) -> bool {
        let managed_by = self.managed_by;
        managed_by.is_none() || label(object.metadata(), MANAGED_BY_LABEL) == managed_by
    }

    /// The event of a change: an object that no longer has the labels counts as deleted.
    fn event(&self, change: &Change) -> Option<Event> {
        if let Some(after) = change.after.as_ref().filter(|object| self.selects(object)) {
            return Some(applied(after.clone()));
        }
        let before = change.before.as_ref().filter(|object| self.selects(object))?;
        let mut object = before.object_ref();
        object.resource_version = change.version.to_string().into();
        Some(Event::Delete(object))
    }
}

/// The event of an object that exists.
fn applied(object: Object) -> Event {
    if object.is_undecodable() {
        Event::Undecodable(object.object_ref())
    } else {
        Event::Apply(object)
    }
}
