//! Where changes come from.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

/// A resource to watch, and how its objects are read.
///
/// Only what matters to the controller should be decoded; the rest of the object is never kept.
#[derive(Clone, Debug)]
pub struct Source<I> {
    /// What it is called in messages, metrics and [`Change`](crate::Change)s: `pods`. One controller may watch a resource
    /// twice, under two names.
    pub kind: &'static str,
    /// The group and version, as in paths: `api/v1`, `apis/discovery.k8s.io/v1`.
    pub api: &'static str,
    /// The resource, as in paths: `pods`.
    pub resource: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Which objects; all, if empty.
    pub label_selector: String,
    /// Whether labels, annotations and the like are enough: the server then sends nothing else.
    pub metadata_only: bool,
    /// Reads one object.
    pub decode: fn(&[u8]) -> Result<Seen<I>, serde_json::Error>,
}

/// An object as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<I> {
    /// Which object, and which version of it.
    pub identity: Identity,
    /// What matters of it.
    pub object: I,
}

/// Which object, and which version of it. Part of the object's `metadata`, and can be read from that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Identity {
    /// Its namespace; empty for what has none.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Box<str>,
    /// Its version.
    pub resource_version: Box<str>,
}

impl From<&ObjectMeta> for Identity {
    fn from(metadata: &ObjectMeta) -> Self {
        let text = |text: &Option<String>| text.as_deref().unwrap_or_default().into();
        Self {
            namespace: text(&metadata.namespace),
            name: text(&metadata.name),
            uid: text(&metadata.uid),
            resource_version: text(&metadata.resource_version),
        }
    }
}
