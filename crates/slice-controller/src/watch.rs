//! Watched resources and the decoding of their objects.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, de::DeserializeOwned};

/// A resource to watch, with the decoder of its objects.
///
/// Decode only the fields that the controller needs: the runtime caches nothing else of an object.
pub struct WatchSpec<W, O> {
    /// The id of the watch, which [`Controller::delete`](crate::Controller::delete) gets.
    pub id: W,
    /// The name in logs, metrics and `/readyz`; by default the resource. Set it where a resource is watched twice.
    pub name: &'static str,
    /// The group and version, such as `v1` or `discovery.k8s.io/v1`.
    pub group_version: &'static str,
    /// The resource in plural, such as `pods`.
    pub resource: &'static str,
    /// Whether the resource is namespaced.
    pub namespaced: bool,
    /// The label selector of the watch; all objects if empty.
    pub label_selector: String,
    /// Whether only the metadata of objects is requested.
    pub metadata_only: bool,
    /// Whether the controller works without the resource.
    pub optional: bool,
    decode: Decoder<O>,
}

type Decoder<O> = Arc<dyn Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error> + Send + Sync>;

impl<W, O> WatchSpec<W, O> {
    /// Watches a namespaced resource. `wrap` converts any type that can be deserialized to the controller's object; an enum
    /// variant will do.
    ///
    /// Each object is parsed a second time for its metadata. Where that matters, use [`with_decoder`](Self::with_decoder).
    pub fn new<T: DeserializeOwned>(
        id: W,
        group_version: &'static str,
        resource: &'static str,
        wrap: impl Fn(T) -> O + Send + Sync + 'static,
    ) -> Self {
        Self::with_decoder(id, group_version, resource, move |bytes| {
            Ok(Decoded {
                object_ref: ObjectRef::decode(bytes)?,
                object: wrap(serde_json::from_slice(bytes)?),
            })
        })
    }

    /// Watches a namespaced resource with a custom decoder.
    pub fn with_decoder(
        id: W,
        group_version: &'static str,
        resource: &'static str,
        decode: impl Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            id,
            name: resource,
            group_version,
            resource,
            namespaced: true,
            label_selector: String::new(),
            metadata_only: false,
            optional: false,
            decode: Arc::new(decode),
        }
    }

    /// Sets the name in logs, metrics and `/readyz`.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Watches a cluster-scoped resource.
    #[must_use]
    pub fn cluster_scoped(self) -> Self {
        Self {
            namespaced: false,
            ..self
        }
    }

    /// Watches only objects that match this label selector.
    #[must_use]
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self {
            label_selector: selector.into(),
            ..self
        }
    }

    /// Requests only the metadata of objects.
    #[must_use]
    pub fn metadata_only(self) -> Self {
        Self {
            metadata_only: true,
            ..self
        }
    }

    /// The resource is optional: if the API server lacks it, the runtime retries, and no sync waits for its initial list. If it
    /// disappears later, its objects stay in the cache.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// Decodes one object.
    pub fn decode(&self, bytes: &[u8]) -> Result<Decoded<O>, serde_json::Error> {
        (self.decode)(bytes)
    }

    /// The group and version as in request paths: `api/v1`, `apis/discovery.k8s.io/v1`.
    #[must_use]
    pub fn api_path(&self) -> String {
        let root = if self.group_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        format!("{root}/{}", self.group_version)
    }
}

impl<W: fmt::Debug, O> fmt::Debug for WatchSpec<W, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchSpec")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("group_version", &self.group_version)
            .field("resource", &self.resource)
            .field("namespaced", &self.namespaced)
            .field("label_selector", &self.label_selector)
            .field("metadata_only", &self.metadata_only)
            .field("optional", &self.optional)
            .finish_non_exhaustive()
    }
}

/// A decoded object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<O> {
    /// The reference of the object.
    pub object_ref: ObjectRef,
    /// The decoded fields.
    pub object: O,
}

/// Reference to one version of an object. Deserializes from the object's `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectRef {
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
    /// The uid.
    pub uid: Box<str>,
    /// The resourceVersion; empty if a relist showed the deletion of the object.
    pub resource_version: Box<str>,
}

impl ObjectRef {
    /// Decodes the metadata of any object.
    pub fn decode(object: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Envelope {
            metadata: ObjectRef,
        }
        serde_json::from_slice::<Envelope>(object).map(|envelope| envelope.metadata)
    }
}

impl From<&ObjectMeta> for ObjectRef {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Deserialize)]
    struct Pool {
        members: Vec<String>,
    }

    #[derive(Debug, PartialEq)]
    enum Object {
        Pool(Pool),
    }

    #[test]
    fn any_deserializable_type_is_decoded_with_its_metadata() {
        let spec = WatchSpec::new((), "example.com/v1", "pools", Object::Pool);
        let pool =
            br#"{"metadata": {"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7"}, "members": ["b"]}"#;
        let Decoded { object_ref, object } = spec.decode(pool).unwrap();
        let members = vec!["b".to_owned()];
        assert_eq!(object, Object::Pool(Pool { members }));
        let ObjectRef {
            namespace,
            name,
            uid,
            resource_version,
        } = &object_ref;
        assert_eq!([&**namespace, name, uid, resource_version], ["ns", "a", "u", "7"]);
        assert!(spec.decode(br#"{"metadata": {"name": "a"}}"#).is_err(), "no members");
    }

    #[test]
    fn core_group_has_its_own_api_path() {
        let path = |group_version| WatchSpec::new((), group_version, "a", Object::Pool).api_path();
        assert_eq!([path("v1"), path("apps/v1")], ["api/v1", "apis/apps/v1"]);
    }
}
