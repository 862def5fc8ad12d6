//! The objects of a play.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        core::v1::{Endpoints, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use slice_controller::ObjectRef;

/// All namespaces.
pub(crate) const NAMESPACES: [&str; 2] = ["ns", "ns-2"];

/// The namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Empty for nodes.
    pub(crate) namespace: &'static str,
    pub(crate) name: String,
}

impl Name {
    pub(crate) fn new(namespace: &str, name: impl Into<String>) -> Self {
        let namespace = NAMESPACES.into_iter().find(|found| *found == namespace);
        Self {
            namespace: namespace.unwrap_or_default(),
            name: name.into(),
        }
    }

    pub(crate) fn of(metadata: &ObjectMeta) -> Self {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        Self::new(namespace, metadata.name.as_deref().unwrap_or_default())
    }
}

/// The label of an object that no watch can decode.
pub(crate) const UNDECODABLE: &str = "undecodable";

/// A resource of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    Nodes,
    Pods,
    Services,
    Endpoints,
    Slices,
}

impl Resource {
    pub(crate) const ALL: [Self; 5] = [Self::Nodes, Self::Pods, Self::Services, Self::Endpoints, Self::Slices];

    /// The resource with this name in request paths.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "nodes" => Self::Nodes,
            "pods" => Self::Pods,
            "services" => Self::Services,
            "endpoints" => Self::Endpoints,
            "endpointslices" => Self::Slices,
            _ => return None,
        })
    }
}

/// An object; cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Object {
    Node(Arc<Node>),
    Pod(Arc<Pod>),
    Service(Arc<Service>),
    Endpoints(Arc<Endpoints>),
    Slice(Arc<EndpointSlice>),
}

impl Object {
    pub(crate) fn resource(&self) -> Resource {
        match self {
            Self::Node(_) => Resource::Nodes,
            Self::Pod(_) => Resource::Pods,
            Self::Service(_) => Resource::Services,
            Self::Endpoints(_) => Resource::Endpoints,
            Self::Slice(_) => Resource::Slices,
        }
    }

    pub(crate) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Node(object) => &object.metadata,
            Self::Pod(object) => &object.metadata,
            Self::Service(object) => &object.metadata,
            Self::Endpoints(object) => &object.metadata,
            Self::Slice(object) => &object.metadata,
        }
    }

    pub(crate) fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Node(object) => &mut Arc::make_mut(object).metadata,
            Self::Pod(object) => &mut Arc::make_mut(object).metadata,
            Self::Service(object) => &mut Arc::make_mut(object).metadata,
            Self::Endpoints(object) => &mut Arc::make_mut(object).metadata,
            Self::Slice(object) => &mut Arc::make_mut(object).metadata,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    pub(crate) fn full_name(&self) -> Name {
        Name::of(self.metadata())
    }

    pub(crate) fn uid(&self) -> &str {
        uid(self.metadata())
    }

    pub(crate) fn is_undecodable(&self) -> bool {
        is_undecodable(self.metadata())
    }

    /// Changes whether the object can be decoded.
    pub(crate) fn set_undecodable(&mut self, undecodable: bool) {
        let labels = self.metadata_mut().labels.get_or_insert_default();
        if undecodable {
            labels.insert(UNDECODABLE.to_owned(), "true".to_owned());
        } else {
            labels.remove(UNDECODABLE);
        }
    }

    pub(crate) fn object_ref(&self) -> ObjectRef {
        ObjectRef::from(self.metadata())
    }

    /// The object for the oracle.
    pub(crate) fn to_recorded(&self) -> slice_oracle::Object {
        match self {
            Self::Node(object) => Node::clone(object).into(),
            Self::Pod(object) => Pod::clone(object).into(),
            Self::Service(object) => Service::clone(object).into(),
            Self::Endpoints(object) => Endpoints::clone(object).into(),
            Self::Slice(object) => EndpointSlice::clone(object).into(),
        }
    }
}

pub(crate) fn uid(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}

pub(crate) fn is_undecodable(metadata: &ObjectMeta) -> bool {
    label(metadata, UNDECODABLE).is_some()
}

pub(crate) fn is_terminating(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}

pub(crate) fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// The resourceVersion as a number.
pub(crate) fn version(metadata: &ObjectMeta) -> u64 {
    let version = metadata.resource_version.as_deref();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}

/// The uid of the first owner.
pub(crate) fn owner_uid(slice: &EndpointSlice) -> Option<&str> {
    let owners = slice.metadata.owner_references.as_deref().unwrap_or_default();
    owners.first().map(|owner| owner.uid.as_str())
}
