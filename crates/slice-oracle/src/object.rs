//! Recorded objects.

use std::fmt;

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

macro_rules! objects {
    ($($kind:ident),+) => {
        /// An object of a recorded resource.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum Object {
            $(#[doc = concat!("One of the kind `", stringify!($kind), "`.")] $kind(Box<$kind>),)+
        }

        impl Object {
            /// The object's metadata.
            #[must_use]
            pub fn metadata(&self) -> &ObjectMeta {
                match self { $(Self::$kind(object) => &object.metadata,)+ }
            }

            /// Mutable access to the metadata.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self { $(Self::$kind(object) => &mut object.metadata,)+ }
            }

            /// The object's kind.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$kind(_) => stringify!($kind),)+ }
            }
        }

        $(impl From<$kind> for Object {
            fn from(object: $kind) -> Self {
                Self::$kind(Box::new(object))
            }
        })+
    };
}

objects!(EndpointSlice, Service, Pod, Node, Endpoints, Namespace);

/// Namespace (empty if cluster-scoped) and name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Name<'a> {
    pub(crate) fn of(metadata: &'a ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace {
            "" => write!(out, "{}", self.name),
            namespace => write!(out, "{namespace}/{}", self.name),
        }
    }
}

/// The uid, or an empty string.
pub(crate) fn uid(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}

/// The value of a label, or an empty string.
pub(crate) fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> &'a str {
    let labels = metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(key)).map_or("", String::as_str)
}

/// The value of an annotation.
pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    let annotations = metadata.annotations.as_ref()?;
    annotations.get(key).map(String::as_str)
}

/// Whether the object has a deletion timestamp.
pub(crate) fn is_terminating(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}
