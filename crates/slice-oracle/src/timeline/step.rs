//! Replay of a history: each event with the state before and after it, and the author of the write.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::config::{CheckConfig, Role};
use crate::history::{Entry, Event, History, ManualWrite, Verb};
use crate::object::{Name, Object, is_terminating, label, uid};
use crate::state::{State, owner_reference};
use crate::well_known::{MANAGED_BY, SERVICE_NAME};

/// Author of a slice revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The slice was in the initial list.
    Unknown,
    /// The test or a user, as recorded by a manual write.
    Manual,
    /// The garbage collector, which deletes a slice after its owner or with its namespace.
    GarbageCollector,
    /// A controller: no other author is possible.
    Controller,
}

/// Replays a history event by event.
pub(crate) struct Replay<'a> {
    config: &'a CheckConfig,
    manual_writes: BTreeSet<(&'a str, Option<u64>)>,
    state: State<'a>,
}

/// An event with the state before and after it.
pub(crate) struct Step<'s, 'a> {
    pub(crate) event: &'a Event,
    pub(crate) before: Option<&'a Object>,
    pub(crate) state: &'s State<'a>,
    pub(crate) config: &'a CheckConfig,
    is_manual: bool,
}

/// A revision of a slice.
#[derive(Clone, Copy)]
pub(crate) struct Revision<'a> {
    pub(crate) event: &'a Event,
    pub(crate) author: Author,
    pub(crate) before: Option<&'a EndpointSlice>,
    /// The slice after the event; its last state if it was deleted.
    pub(crate) slice: &'a EndpointSlice,
    /// The controller of the slice before the event; after it, for a new slice.
    pub(crate) role: Option<Role>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(history: &'a History, config: &'a CheckConfig) -> Self {
        let manual_writes = history.entries().iter().filter_map(|entry| match entry {
            Entry::ManualWrite(ManualWrite { manual_write, revision }) => Some((manual_write.as_str(), *revision)),
            _ => None,
        });
        Self {
            config,
            manual_writes: manual_writes.collect(),
            state: State::default(),
        }
    }

    pub(crate) fn step(&mut self, event: &'a Event) -> Step<'_, 'a> {
        let uid = uid(event.object().metadata());
        let before = self.state.object(event.object());
        self.state.apply(event);
        let deleted_manually = event.verb() == Verb::Deleted && self.manual_writes.contains(&(uid, None));
        Step {
            event,
            before,
            is_manual: deleted_manually || self.manual_writes.contains(&(uid, Some(event.revision()))),
            state: &self.state,
            config: self.config,
        }
    }

    pub(crate) fn state(&self) -> &State<'a> {
        &self.state
    }
}

impl<'a> Step<'_, 'a> {
    /// The slice revision of this event; `None` for other kinds.
    pub(crate) fn revision(&self) -> Option<Revision<'a>> {
        let Object::EndpointSlice(now) = self.event.object() else {
            return None;
        };
        let before = self.before.and_then(|before| match before {
            Object::EndpointSlice(before) => Some(&**before),
            _ => None,
        });
        let managed_by = label(&before.unwrap_or(now).metadata, MANAGED_BY);
        Some(Revision {
            event: self.event,
            author: self.author(now, before),
            before,
            slice: now,
            role: self.config.role(managed_by),
        })
    }

    fn author(&self, now: &EndpointSlice, before: Option<&EndpointSlice>) -> Author {
        let is_deletion = self.event.verb() == Verb::Deleted
            || (is_terminating(&now.metadata) && !before.is_some_and(|before| is_terminating(&before.metadata)));
        if self.event.verb() == Verb::Listed {
            Author::Unknown
        } else if self.is_manual {
            Author::Manual
        } else if is_deletion && self.owner_is_gone(now) {
            Author::GarbageCollector
        } else {
            Author::Controller
        }
    }

    fn owner_is_gone(&self, slice: &EndpointSlice) -> bool {
        let namespace = Name::of(&slice.metadata).namespace;
        let roles = [Role::Services, Role::Mirroring];
        let mut owners = roles
            .into_iter()
            .filter_map(|role| Some((role, owner_reference(slice, role)?)));
        !self.state.namespace_is_active(namespace)
            || owners.next().is_some_and(|(role, owner)| {
                let name = Name {
                    namespace,
                    name: &owner.name,
                };
                let found = match role {
                    Role::Services => self.state.services.get(&name).map(|service| &service.metadata),
                    Role::Mirroring => self.state.endpoints.get(&name).map(|endpoints| &endpoints.metadata),
                };
                !found.is_some_and(|found| uid(found) == owner.uid && !is_terminating(found))
            })
    }
}

impl<'a> Revision<'a> {
    /// The slice after the event, unless it was deleted.
    pub(crate) fn after(&self) -> Option<&'a EndpointSlice> {
        (self.event.verb() != Verb::Deleted).then_some(self.slice)
    }

    /// Object and revision, for a violation.
    pub(crate) fn subject(&self) -> (String, u64) {
        let name = Name::of(&self.slice.metadata);
        (format!("EndpointSlice {name}"), self.event.revision())
    }

    /// The Service of the slice, by its label.
    pub(crate) fn service(&self) -> Name<'a> {
        service_of(self.slice)
    }

    /// Whether a checked controller wrote this revision.
    pub(crate) fn is_ours(&self) -> bool {
        self.author == Author::Controller && self.role.is_some()
    }
}

/// The Service of a slice, by its service-name label.
pub(crate) fn service_of(slice: &EndpointSlice) -> Name<'_> {
    Name {
        namespace: Name::of(&slice.metadata).namespace,
        name: label(&slice.metadata, SERVICE_NAME),
    }
}

/// All writes of the checked controllers.
pub(crate) fn writes<'a>(history: &'a History, config: &'a CheckConfig) -> Vec<Revision<'a>> {
    let mut walk = Replay::new(history, config);
    let revisions = history.events().filter_map(|event| walk.step(event).revision());
    revisions.filter(Revision::is_ours).collect()
}
