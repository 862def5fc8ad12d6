//! What the slices should hold, revision by revision of everything else.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Endpoints, Node, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::excuses::Timeline;
use super::step::Step;
use super::views::{Range, Views};
use crate::history::limits::Role;
use crate::history::object::{Name, Object, is_going, uid};
use crate::history::record::{Event, Verb};
use crate::history::state::State;
use crate::history::wanted::{
    self, Family, Mechanism, NodeFacts, Wanted, is_mirrored, is_ready, mechanism, node_name, subsets, zone,
};

/// Somebody with slices: the kind of slices, and a uid.
pub(super) type Owner<'a> = (Role, &'a str);

/// What is followed through all slices of an owner and an address type: a pod by its uid, or a mirrored address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place<'a> {
    pub(super) owner: Owner<'a>,
    pub(super) family: Family,
    pub(super) unit: String,
}

/// What should be, and since when.
#[derive(Debug, Default)]
pub(super) struct Inputs<'a> {
    wanted: BTreeMap<Owner<'a>, BTreeMap<String, Vec<Wanted>>>,
    ready: BTreeMap<Place<'a>, Timeline>,
    changes: BTreeMap<(Role, Name<'a>), BTreeSet<u64>>,
    views: Views<'a>,
}

impl<'a> Inputs<'a> {
    /// When a place should have been ready.
    pub(super) fn ready(&self, place: &Place<'a>) -> Option<&Timeline> {
        self.ready.get(place)
    }

    /// A revision of the inputs by which a controller may take a place for one that is not ready, although there was none.
    pub(super) fn seems_unready(&self, place: &Place<'a>, range: Range, state: &State<'a>) -> Option<u64> {
        let (Role::Services, service) = place.owner else {
            return None;
        };
        let is_unready = |wanted: &[Wanted]| !should_be_ready(wanted, place.family);
        self.views.find((service, &place.unit), range, state, is_unready)
    }

    /// The first change, from a revision on, of what the slices of a Service are made from.
    pub(super) fn change(&self, role: Role, service: Name<'a>, from: u64, to: u64) -> Option<u64> {
        let changes = self.changes.get(&(role, service))?;
        changes.range(from..=to).next().copied()
    }

    /// Notes that there is a reason to look at the slices of a Service.
    pub(super) fn note(&mut self, role: Role, service: Name<'a>, revision: u64) {
        self.changes.entry((role, service)).or_default().insert(revision);
    }

    pub(super) fn follow(&mut self, step: &Step<'_, 'a>) {
        let name = Name::of(step.event.object().metadata());
        self.views.follow(step.event);
        match step.event.object() {
            Object::Service(service) => self.service(service, step),
            Object::Pod(pod) => self.pod(pod, step),
            Object::Node(node) => self.node(node, step),
            Object::Endpoints(endpoints) => {
                if !same_texts(step.before, &endpoints.metadata) {
                    self.note(Role::Mirroring, name, place_in_time(step.event));
                }
                self.mirror(endpoints, step);
            }
            Object::Namespace(_) => {
                for service in step.state.services_in(name.name) {
                    self.service(service, step);
                }
            }
            Object::EndpointSlice(_) => {}
        }
    }

    /// Looks at a Service anew, with all pods there are and its Endpoints.
    fn service(&mut self, service: &'a Service, step: &Step<'_, 'a>) {
        let name = Name::of(&service.metadata);
        let is_there = step.state.services.contains_key(&name);
        let same = matches!(step.before, Some(Object::Service(before))
            if before.spec == service.spec && same_texts(step.before, &service.metadata)
                && is_going(&before.metadata) == is_going(&service.metadata));
        if !same || !is_there {
            self.note(Role::Services, name, place_in_time(step.event));
        }
        let pods = step.state.pods_in(name.namespace).filter(|_| is_there);
        let wanted = pods
            .map(|pod| {
                (
                    uid(&pod.metadata).to_owned(),
                    wanted::endpoints(service, pod, step.state),
                )
            })
            .filter(|(_, wanted)| !wanted.is_empty());
        let wanted = wanted.collect();
        self.replace((Role::Services, uid(&service.metadata)), name, wanted, step.event);
        if let Some(endpoints) = step.state.endpoints.get(&name) {
            self.mirror(endpoints, step);
        }
    }

    fn pod(&mut self, pod: &Pod, step: &Step<'_, 'a>) {
        let namespace = Name::of(&pod.metadata).namespace;
        for service in step.state.services_in(namespace) {
            let wanted = match step.event.verb() {
                Verb::Deleted if matches!(step.event.object(), Object::Pod(_)) => Vec::new(),
                _ => wanted::endpoints(service, pod, step.state),
            };
            let owner = (Role::Services, uid(&service.metadata));
            self.update(
                owner,
                Name::of(&service.metadata),
                uid(&pod.metadata),
                wanted,
                step.event,
            );
        }
    }

    fn node(&mut self, node: &Node, step: &Step<'_, 'a>) {
        let before = match step.before {
            Some(Object::Node(before)) => Some(&**before),
            _ => None,
        };
        let now = (step.event.verb() != Verb::Deleted).then_some(node);
        if before.map(zone) != now.map(zone) {
            let on_it = |pod: &&Pod| node_name(pod) == node.metadata.name.as_deref();
            for pod in step.state.pods.values().copied().filter(on_it) {
                self.pod(pod, step);
            }
        }
        if before.and_then(NodeFacts::of) != now.and_then(NodeFacts::of) {
            for (name, service) in &step.state.services {
                if mechanism(service) == Mechanism::Auto {
                    self.note(Role::Services, *name, place_in_time(step.event));
                }
            }
        }
    }

    /// Looks at an Endpoints object anew.
    fn mirror(&mut self, endpoints: &'a Endpoints, step: &Step<'_, 'a>) {
        let name = Name::of(&endpoints.metadata);
        let mut wanted: BTreeMap<String, Vec<Wanted>> = BTreeMap::new();
        if step.state.endpoints.contains_key(&name) && is_mirrored(endpoints, step.state) {
            for one in subsets(endpoints, step.limits.max_endpoints(Role::Mirroring)) {
                wanted.entry(one.endpoint.addresses.concat()).or_default().push(one);
            }
        }
        self.replace((Role::Mirroring, uid(&endpoints.metadata)), name, wanted, step.event);
    }

    fn replace(
        &mut self,
        owner: Owner<'a>,
        service: Name<'a>,
        mut wanted: BTreeMap<String, Vec<Wanted>>,
        event: &Event,
    ) {
        let old = self.wanted.get(&owner).into_iter().flat_map(BTreeMap::keys);
        for unit in old.cloned().collect::<Vec<_>>() {
            let wanted = wanted.remove(&unit).unwrap_or_default();
            self.update(owner, service, &unit, wanted, event);
        }
        for (unit, wanted) in wanted {
            self.update(owner, service, &unit, wanted, event);
        }
    }

    fn update(&mut self, owner: Owner<'a>, service: Name<'a>, unit: &str, wanted: Vec<Wanted>, event: &Event) {
        let units = self.wanted.entry(owner).or_default();
        let old = units.get(unit).map_or(&[][..], Vec::as_slice);
        if old == wanted {
            return;
        }
        for family in Family::BOTH {
            let place = Place {
                owner,
                family,
                unit: unit.to_owned(),
            };
            let ready = should_be_ready(&wanted, family);
            self.ready
                .entry(place)
                .or_default()
                .turn(place_in_time(event), event, ready);
        }
        if wanted.is_empty() {
            units.remove(unit);
        } else {
            units.insert(unit.to_owned(), wanted);
        }
        self.note(owner.0, service, place_in_time(event));
    }
}

/// Wherever it is wanted, it is wanted ready.
fn should_be_ready(wanted: &[Wanted], family: Family) -> bool {
    let mut of_family = wanted.iter().filter(|wanted| wanted.family == family).peekable();
    of_family.peek().is_some() && of_family.all(|wanted| is_ready(&wanted.endpoint))
}

/// Whether labels and annotations are the same as before.
fn same_texts(before: Option<&Object>, now: &ObjectMeta) -> bool {
    before.is_some_and(|before| {
        let before = before.metadata();
        before.labels == now.labels && before.annotations == now.annotations
    })
}

/// What was there when the recording began was there before everything else.
pub(super) fn place_in_time(event: &Event) -> u64 {
    match event.verb() {
        Verb::Listed => 0,
        _ => event.revision(),
    }
}
