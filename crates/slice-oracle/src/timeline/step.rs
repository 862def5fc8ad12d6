//! One event after the other, with what was before and what is after, and who did it.

use std::collections::BTreeSet;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::config::{Limits, Role};
use crate::history::{ByHand, Entry, Event, History, Verb};
use crate::object::{Name, Object, is_terminating, label, uid};
use crate::state::{State, owner_reference};
use crate::well_known::{MANAGED_BY, SERVICE_NAME};

/// Who wrote a revision of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// It was there before.
    Unknown,
    /// Somebody said that it was them.
    Manual,
    /// It went, or goes, with its owner or its namespace.
    GarbageCollector,
    /// Nobody else can have.
    Controller,
}

/// A walk through a history.
pub(crate) struct Replay<'a> {
    limits: &'a Limits,
    by_hand: BTreeSet<(&'a str, Option<u64>)>,
    state: State<'a>,
}

/// An event, with what was there before and what is there after.
pub(crate) struct Step<'s, 'a> {
    pub(crate) event: &'a Event,
    pub(crate) before: Option<&'a Object>,
    pub(crate) state: &'s State<'a>,
    pub(crate) limits: &'a Limits,
    by_hand: bool,
}

/// A revision of a slice.
#[derive(Clone, Copy)]
pub(crate) struct Revision<'a> {
    pub(crate) event: &'a Event,
    pub(crate) author: Author,
    pub(crate) before: Option<&'a EndpointSlice>,
    /// The slice as it is, or as it was last.
    pub(crate) slice: &'a EndpointSlice,
    /// Whose slice it was before, or is when it is new.
    pub(crate) role: Option<Role>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(history: &'a History, limits: &'a Limits) -> Self {
        let by_hand = history.entries().iter().filter_map(|entry| match entry {
            Entry::ByHand(ByHand { by_hand, revision }) => Some((by_hand.as_str(), *revision)),
            _ => None,
        });
        Self {
            limits,
            by_hand: by_hand.collect(),
            state: State::default(),
        }
    }

    pub(crate) fn step(&mut self, event: &'a Event) -> Step<'_, 'a> {
        let uid = uid(event.object().metadata());
        let before = self.state.object(event.object());
        self.state.apply(event);
        let removed_by_hand = event.verb() == Verb::Deleted && self.by_hand.contains(&(uid, None));
        Step {
            event,
            before,
            by_hand: removed_by_hand || self.by_hand.contains(&(uid, Some(event.revision()))),
            state: &self.state,
            limits: self.limits,
        }
    }

    pub(crate) fn state(&self) -> &State<'a> {
        &self.state
    }
}

impl<'a> Step<'_, 'a> {
    /// The revision of a slice that this is.
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
            role: self.limits.role(managed_by),
        })
    }

    fn author(&self, now: &EndpointSlice, before: Option<&EndpointSlice>) -> Author {
        let goes = self.event.verb() == Verb::Deleted
            || (is_terminating(&now.metadata) && !before.is_some_and(|before| is_terminating(&before.metadata)));
        if self.event.verb() == Verb::Listed {
            Author::Unknown
        } else if self.by_hand {
            Author::Manual
        } else if goes && self.owner_is_gone(now) {
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
    /// The slice, unless it is gone.
    pub(crate) fn after(&self) -> Option<&'a EndpointSlice> {
        (self.event.verb() != Verb::Deleted).then_some(self.slice)
    }

    /// The slice, for a message.
    pub(crate) fn subject(&self) -> (String, u64) {
        let name = Name::of(&self.slice.metadata);
        (format!("EndpointSlice {name}"), self.event.revision())
    }

    /// The Service whose slice it is, by its label.
    pub(crate) fn service(&self) -> Name<'a> {
        service_of(self.slice)
    }

    /// Whether a controller under judgement wrote it.
    pub(crate) fn is_ours(&self) -> bool {
        self.author == Author::Controller && self.role.is_some()
    }
}

/// The Service that a slice is labelled with.
pub(crate) fn service_of(slice: &EndpointSlice) -> Name<'_> {
    Name {
        namespace: Name::of(&slice.metadata).namespace,
        name: label(&slice.metadata, SERVICE_NAME),
    }
}

/// The writes of the controllers under judgement.
pub(crate) fn writes<'a>(history: &'a History, limits: &'a Limits) -> Vec<Revision<'a>> {
    let mut walk = Replay::new(history, limits);
    let revisions = history.events().filter_map(|event| walk.step(event).revision());
    revisions.filter(Revision::is_ours).collect()
}
