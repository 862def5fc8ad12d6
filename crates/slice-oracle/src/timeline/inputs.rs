//! Inputs of the slices: desired endpoints and their changes, by revision.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Endpoints, Node, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::cache_views::{CacheViews, RevisionRange};
use super::readiness_timeline::ReadinessTimeline;
use super::step::Step;
use crate::config::Role;
use crate::desired::{
    self, DesiredEndpoint, Family, Mechanism, NodeInfo, is_mirrored, is_ready, mechanism, mirrored_endpoints,
    node_name, zone,
};
use crate::history::{Event, Verb};
use crate::object::{Name, Object, is_terminating, uid};
use crate::state::State;

/// Owner of slices: the controller, and the uid of the owner.
pub(super) type OwnerKey<'a> = (Role, &'a str);

/// An endpoint, tracked across all slices of an owner and address type: a pod by uid, or a mirrored address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EndpointKey<'a> {
    pub(super) owner: OwnerKey<'a>,
    pub(super) family: Family,
    pub(super) id: String,
}

/// Desired endpoints, and the revisions of their changes.
#[derive(Debug, Default)]
pub(super) struct Inputs<'a> {
    desired: BTreeMap<OwnerKey<'a>, BTreeMap<String, Vec<DesiredEndpoint>>>,
    ready: BTreeMap<EndpointKey<'a>, ReadinessTimeline>,
    changes: BTreeMap<(Role, Name<'a>), BTreeSet<u64>>,
    views: CacheViews<'a>,
}

impl<'a> Inputs<'a> {
    /// Desired readiness of an endpoint over time.
    pub(super) fn ready(&self, key: &EndpointKey<'a>) -> Option<&ReadinessTimeline> {
        self.ready.get(key)
    }

    /// An input revision at which the endpoint is not ready in some combination of cached objects, although it never
    /// was in the store.
    pub(super) fn seems_unready(&self, key: &EndpointKey<'a>, range: RevisionRange, state: &State<'a>) -> Option<u64> {
        let (Role::Services, service) = key.owner else {
            return None;
        };
        let is_unready = |desired: &[DesiredEndpoint]| !should_be_ready(desired, key.family);
        self.views.find((service, &key.id), range, state, is_unready)
    }

    /// The first change of the inputs of a Service in a range of revisions.
    pub(super) fn change(&self, role: Role, service: Name<'a>, from: u64, to: u64) -> Option<u64> {
        let changes = self.changes.get(&(role, service))?;
        changes.range(from..=to).next().copied()
    }

    /// Records a change that can cause writes of a Service's slices.
    pub(super) fn record_change(&mut self, role: Role, service: Name<'a>, revision: u64) {
        self.changes.entry((role, service)).or_default().insert(revision);
    }

    pub(super) fn apply(&mut self, step: &Step<'_, 'a>) {
        let name = Name::of(step.event.object().metadata());
        self.views.apply(step.event);
        match step.event.object() {
            Object::Service(service) => self.service(service, step),
            Object::Pod(pod) => self.pod(pod, step),
            Object::Node(node) => self.node(node, step),
            Object::Endpoints(endpoints) => {
                if !same_labels_and_annotations(step.before, &endpoints.metadata) {
                    self.record_change(Role::Mirroring, name, effective_revision(step.event));
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

    /// Recomputes the desired endpoints of a Service from all pods, and of its Endpoints object.
    fn service(&mut self, service: &'a Service, step: &Step<'_, 'a>) {
        let name = Name::of(&service.metadata);
        let exists = step.state.services.contains_key(&name);
        let same = matches!(step.before, Some(Object::Service(before))
            if before.spec == service.spec && same_labels_and_annotations(step.before, &service.metadata)
                && is_terminating(&before.metadata) == is_terminating(&service.metadata));
        if !same || !exists {
            self.record_change(Role::Services, name, effective_revision(step.event));
        }
        let pods = step.state.pods_in(name.namespace).filter(|_| exists);
        let desired = pods
            .map(|pod| {
                (
                    uid(&pod.metadata).to_owned(),
                    desired::endpoints(service, pod, step.state),
                )
            })
            .filter(|(_, desired)| !desired.is_empty());
        let desired = desired.collect();
        self.replace((Role::Services, uid(&service.metadata)), name, desired, step.event);
        if let Some(endpoints) = step.state.endpoints.get(&name) {
            self.mirror(endpoints, step);
        }
    }

    fn pod(&mut self, pod: &Pod, step: &Step<'_, 'a>) {
        let namespace = Name::of(&pod.metadata).namespace;
        for service in step.state.services_in(namespace) {
            let desired = match step.event.verb() {
                Verb::Deleted if matches!(step.event.object(), Object::Pod(_)) => Vec::new(),
                _ => desired::endpoints(service, pod, step.state),
            };
            let owner = (Role::Services, uid(&service.metadata));
            self.update(
                owner,
                Name::of(&service.metadata),
                uid(&pod.metadata),
                desired,
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
        if before.and_then(NodeInfo::of) != now.and_then(NodeInfo::of) {
            for (name, service) in &step.state.services {
                if mechanism(service) == Mechanism::Auto {
                    self.record_change(Role::Services, *name, effective_revision(step.event));
                }
            }
        }
    }

    /// Recomputes the desired endpoints of an Endpoints object.
    fn mirror(&mut self, endpoints: &'a Endpoints, step: &Step<'_, 'a>) {
        let name = Name::of(&endpoints.metadata);
        let mut desired: BTreeMap<String, Vec<DesiredEndpoint>> = BTreeMap::new();
        if step.state.endpoints.contains_key(&name) && is_mirrored(endpoints, step.state) {
            for one in mirrored_endpoints(endpoints, step.config.max_endpoints(Role::Mirroring)) {
                desired.entry(one.endpoint.addresses.concat()).or_default().push(one);
            }
        }
        self.replace((Role::Mirroring, uid(&endpoints.metadata)), name, desired, step.event);
    }

    fn replace(
        &mut self,
        owner: OwnerKey<'a>,
        service: Name<'a>,
        mut desired: BTreeMap<String, Vec<DesiredEndpoint>>,
        event: &Event,
    ) {
        let old = self.desired.get(&owner).into_iter().flat_map(BTreeMap::keys);
        for id in old.cloned().collect::<Vec<_>>() {
            let desired = desired.remove(&id).unwrap_or_default();
            self.update(owner, service, &id, desired, event);
        }
        for (id, desired) in desired {
            self.update(owner, service, &id, desired, event);
        }
    }

    fn update(
        &mut self,
        owner: OwnerKey<'a>,
        service: Name<'a>,
        id: &str,
        desired: Vec<DesiredEndpoint>,
        event: &Event,
    ) {
        let endpoints = self.desired.entry(owner).or_default();
        let old = endpoints.get(id).map_or(&[][..], Vec::as_slice);
        if old == desired {
            return;
        }
        for family in Family::BOTH {
            let key = EndpointKey {
                owner,
                family,
                id: id.to_owned(),
            };
            let ready = should_be_ready(&desired, family);
            self.ready
                .entry(key)
                .or_default()
                .record(effective_revision(event), event, ready);
        }
        if desired.is_empty() {
            endpoints.remove(id);
        } else {
            endpoints.insert(id.to_owned(), desired);
        }
        self.record_change(owner.0, service, effective_revision(event));
    }
}

/// Whether the endpoint is desired, and ready in every port group.
fn should_be_ready(desired: &[DesiredEndpoint], family: Family) -> bool {
    let mut of_family = desired.iter().filter(|desired| desired.family == family).peekable();
    of_family.peek().is_some() && of_family.all(|desired| is_ready(&desired.endpoint))
}

/// Whether labels and annotations are unchanged.
fn same_labels_and_annotations(before: Option<&Object>, now: &ObjectMeta) -> bool {
    before.is_some_and(|before| {
        let before = before.metadata();
        before.labels == now.labels && before.annotations == now.annotations
    })
}

/// The revision of an event; 0 for an object of the initial list.
pub(super) fn effective_revision(event: &Event) -> u64 {
    match event.verb() {
        Verb::Listed => 0,
        _ => event.revision(),
    }
}
