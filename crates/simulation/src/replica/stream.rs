//! The watch streams of a replica.

use std::{collections::VecDeque, time::Instant};

use slice_core::well_known::MANAGED_BY_LABEL;
use slice_runtime::simulation::SimulatedCatchUp;

use crate::{
    engine::{Event, WatchDef},
    object::{Object, Resource, label},
    server::{Change, Server},
};

/// A watch stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(super) definition: WatchDef,
    /// The index of the next change in the log of the server.
    pub(super) position: usize,
    /// The position up to which a complete list and all changes were delivered.
    pub(super) delivered: usize,
    /// The resourceVersion up to which the reflector has seen all events.
    version: u64,
    pub(super) catch_up: SimulatedCatchUp,
    pub(super) listing: Option<Listing>,
    /// Whether a list was complete.
    pub(crate) synced: bool,
    pub(crate) held: bool,
    pub(super) resume: Resume,
    /// When the next list may start, after one was rejected.
    pub(super) retry_at: Option<Instant>,
    /// When to list, to confirm the last list.
    pub(super) confirm_at: Option<Instant>,
    /// When the first list with a wrong view was complete, until one with the right view is.
    pub(crate) wrong_since: Option<Instant>,
}

/// How a stream continues that is not listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    Watch,
    /// It has not listed, or its list failed.
    List,
    /// resourceVersions went back: the watch is silent until the stream lists again.
    NewEpoch,
}

/// A list that is not delivered completely.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) objects: VecDeque<Object>,
    pub(super) version: u64,
    pub(super) is_wrong: bool,
}

impl Stream {
    pub(super) fn new(definition: WatchDef) -> Self {
        Self {
            definition,
            position: 0,
            delivered: 0,
            version: 0,
            catch_up: SimulatedCatchUp::default(),
            listing: None,
            synced: false,
            held: false,
            resume: Resume::List,
            retry_at: None,
            confirm_at: None,
            wrong_since: None,
        }
    }

    /// Whether the stream watches or is listing.
    pub(crate) fn is_started(&self) -> bool {
        self.listing.is_some() || self.resume == Resume::Watch
    }

    /// Whether endpoints exist only as long as objects of the stream do.
    pub(crate) fn has_endpoints(&self) -> bool {
        self.definition.resource != Resource::Slices
    }

    /// Whether resourceVersions went back since the last list.
    pub(super) fn is_outdated(&self) -> bool {
        self.resume == Resume::NewEpoch
    }

    /// Whether a list must be confirmed.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.confirm_at.is_some()
    }

    /// The next list is due at once.
    pub(crate) fn list_again(&mut self) {
        self.resume = Resume::List;
    }

    pub(super) fn is_watching(&self) -> bool {
        self.listing.is_none() && self.resume == Resume::Watch
    }

    /// A new term needs a version to reach: the current one is read, unless a list is being delivered. Returns whether there is
    /// a new term, and the one with which the stream has caught up by that.
    pub(super) fn read_target(&mut self, term: Option<u64>, server: &Server) -> (bool, Option<u64>) {
        let unread = self.catch_up.unread_term(term);
        let Some(term) = unread.filter(|_| self.listing.is_none() && server.overload.is_none()) else {
            return (false, None);
        };
        self.catch_up.set_target(term, server.version());
        (true, self.catch_up_with(self.version))
    }

    /// A bookmark is delivered if the stream has to reach a version. Returns the term with which it has caught up by that.
    pub(super) fn bookmark(&mut self, server: &Server) -> Option<u64> {
        if !self.is_watching() || !self.catch_up.is_pending() {
            return None;
        }
        self.version = server.version();
        self.catch_up.advance(self.version)
    }

    /// The term with which the stream has caught up by an event.
    pub(super) fn caught_up(&mut self, event: &Event) -> Option<u64> {
        match event {
            Event::InitDone(_) => self.catch_up.complete_list(),
            Event::Apply(_) | Event::Delete(_) | Event::Undecodable(_) => self.catch_up_with(self.version),
            _ => None,
        }
    }

    /// A stream without a complete list has no version.
    fn catch_up_with(&mut self, version: u64) -> Option<u64> {
        self.is_watching().then(|| self.catch_up.advance(version)).flatten()
    }

    pub(super) fn next(&mut self, server: &Server) -> Option<Event> {
        if let Some(listing) = &mut self.listing {
            if let Some(object) = listing.objects.pop_front() {
                return Some(applied(object));
            }
            let event = Event::InitDone(listing.version);
            if !listing.is_wrong {
                self.wrong_since = None;
            }
            self.version = listing.version;
            self.delivered = self.position;
            self.listing = None;
            self.synced = true;
            return Some(event);
        }
        if !self.is_watching() {
            return None;
        }
        for change in server.changes(self.definition.resource, self.position) {
            self.position += 1;
            self.delivered = self.position;
            if let Some(event) = self.definition.event(change) {
                self.version = change.version;
                return Some(event);
            }
        }
        None
    }
}

impl WatchDef {
    pub(super) fn selects(&self, object: &Object) -> bool {
        let managed_by = self.managed_by;
        managed_by.is_none() || label(object.metadata(), MANAGED_BY_LABEL) == managed_by
    }

    /// The event of a change: an object that no longer has the labels counts as deleted.
    pub(super) fn event(&self, change: &Change) -> Option<Event> {
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
