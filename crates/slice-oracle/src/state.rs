//! State of the cluster at one point of a history.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::config::Role;
use crate::history::{Event, History, Verb};
use crate::object::{Name, Object, is_terminating, label};
use crate::well_known::{MANAGED_BY, SERVICE_NAME};

/// Existing objects by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct State<'a> {
    pub(crate) slices: BTreeMap<Name<'a>, &'a EndpointSlice>,
    pub(crate) services: BTreeMap<Name<'a>, &'a Service>,
    pub(crate) pods: BTreeMap<Name<'a>, &'a Pod>,
    pub(crate) nodes: BTreeMap<&'a str, &'a Node>,
    pub(crate) endpoints: BTreeMap<Name<'a>, &'a Endpoints>,
    namespaces: BTreeMap<&'a str, &'a Namespace>,
    /// All objects, by kind and name.
    objects: BTreeMap<(&'static str, Name<'a>), &'a Object>,
    /// The last applied revision.
    pub(crate) revision: u64,
}

impl<'a> State<'a> {
    /// The state at the end of a history.
    pub(crate) fn final_state(history: &'a History) -> Self {
        let mut state = Self::default();
        for event in history.events() {
            state.apply(event);
        }
        state
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, event: &'a Event) {
        self.revision = self.revision.max(event.revision());
        let gone = event.verb() == Verb::Deleted;
        let name = Name::of(event.object().metadata());
        insert_or_remove(&mut self.objects, (event.object().kind(), name), event.object(), gone);
        match event.object() {
            Object::EndpointSlice(slice) => insert_or_remove(&mut self.slices, name, slice, gone),
            Object::Service(service) => insert_or_remove(&mut self.services, name, service, gone),
            Object::Pod(pod) => insert_or_remove(&mut self.pods, name, pod, gone),
            Object::Node(node) => insert_or_remove(&mut self.nodes, name.name, node, gone),
            Object::Endpoints(endpoints) => insert_or_remove(&mut self.endpoints, name, endpoints, gone),
            Object::Namespace(namespace) => insert_or_remove(&mut self.namespaces, name.name, namespace, gone),
        }
    }

    /// The existing object of the same kind and name.
    pub(crate) fn object(&self, like: &Object) -> Option<&'a Object> {
        self.objects.get(&(like.kind(), Name::of(like.metadata()))).copied()
    }

    /// The pods of a namespace.
    pub(crate) fn pods_in<'s>(&'s self, namespace: &'s str) -> impl Iterator<Item = &'a Pod> + use<'s, 'a> {
        in_namespace(&self.pods, namespace)
    }

    /// The Services of a namespace.
    pub(crate) fn services_in<'s>(&'s self, namespace: &'s str) -> impl Iterator<Item = &'a Service> + use<'s, 'a> {
        in_namespace(&self.services, namespace)
    }

    /// The slices with these labels that are not terminating.
    pub(crate) fn slices_of(&self, managed_by: &str, service: Name<'_>) -> Vec<&'a EndpointSlice> {
        in_namespace(&self.slices, service.namespace)
            .filter(|slice| {
                label(&slice.metadata, MANAGED_BY) == managed_by
                    && label(&slice.metadata, SERVICE_NAME) == service.name
                    && !is_terminating(&slice.metadata)
            })
            .collect()
    }

    /// Whether a namespace exists and is not terminating. In a terminating namespace, objects are deleted in any order.
    pub(crate) fn namespace_is_active(&self, namespace: &str) -> bool {
        self.namespaces
            .get(namespace)
            .is_some_and(|namespace| !is_terminating(&namespace.metadata))
    }
}

fn insert_or_remove<K: Ord, V>(objects: &mut BTreeMap<K, V>, key: K, object: V, gone: bool) {
    if gone {
        objects.remove(&key);
    } else {
        objects.insert(key, object);
    }
}

fn in_namespace<'s, 'a, V>(
    objects: &'s BTreeMap<Name<'s>, &'a V>,
    namespace: &'s str,
) -> impl Iterator<Item = &'a V> + use<'s, 'a, V> {
    let first = Name { namespace, name: "" };
    objects
        .range(first..)
        .take_while(move |(name, _)| name.namespace == namespace)
        .map(|(_, object)| *object)
}

/// The owner reference of a slice to an object of the kind that the controller manages slices for.
pub(crate) fn owner_reference(slice: &EndpointSlice, role: Role) -> Option<&OwnerReference> {
    let owners = slice.metadata.owner_references.as_deref().unwrap_or_default();
    owners
        .iter()
        .find(|owner| owner.kind == role.owner_kind() && owner.api_version == "v1")
}
