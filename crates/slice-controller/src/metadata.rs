//! Slim decoding of object metadata: only the fields that controllers need.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;

/// Object metadata without annotations, which can be larger than the rest of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of ObjectMeta")]
pub struct SlimMetadata {
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub creation_timestamp: Option<Time>,
    pub deletion_timestamp: Option<Time>,
    pub labels: Option<BTreeMap<String, String>>,
}

impl From<SlimMetadata> for ObjectMeta {
    fn from(slim: SlimMetadata) -> Self {
        Self {
            namespace: slim.namespace,
            name: slim.name,
            uid: slim.uid,
            resource_version: slim.resource_version,
            creation_timestamp: slim.creation_timestamp,
            deletion_timestamp: slim.deletion_timestamp,
            labels: slim.labels,
            ..Self::default()
        }
    }
}

/// Object metadata with annotations, for objects whose annotations matter.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AnnotatedMetadata {
    /// All other fields.
    #[serde(flatten)]
    pub slim: SlimMetadata,
    /// The annotations.
    pub annotations: Option<BTreeMap<String, String>>,
}

impl From<AnnotatedMetadata> for ObjectMeta {
    fn from(metadata: AnnotatedMetadata) -> Self {
        Self {
            annotations: metadata.annotations,
            ..metadata.slim.into()
        }
    }
}
