//! Owners of slices and their owner references.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use slice_core::CompactSlice;

/// The API object that slices exist for, of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its API group and version, such as `v1`. Objects from typed clients do not carry it.
    pub api_version: &'a str,
    /// Its kind, such as `Service`.
    pub kind: &'a str,
    /// Its namespace, and that of its slices.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid. A later object of the same name is another owner.
    pub uid: &'a str,
    /// Whether it is terminating. No new slices are created for it then.
    pub terminating: bool,
}

/// Flags of an owner reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReferenceOptions {
    /// Whether the owner is the managing controller of the slice.
    pub controller: bool,
    /// Whether a foreground deletion of the owner waits for the slice.
    pub block_owner_deletion: bool,
}

impl Default for OwnerReferenceOptions {
    /// The flags of the built-in controllers.
    fn default() -> Self {
        Self {
            controller: true,
            block_owner_deletion: true,
        }
    }
}

/// Handling of slices that have our labels but belong to another owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// Delete them, and never reuse them (I7).
    #[default]
    Enforce,
    /// Adopt them: use them like ours, and add our owner reference at once, for garbage collection with our owner (G16).
    Ignore,
    /// Delete those of an earlier owner of the same kind and name (I7). Adopt the others, and add our owner reference with
    /// their next write, never by a write of its own (G53, M83).
    RebuildOnForeignUid,
}

impl Ownership {
    /// Whether a slice with our labels may be used.
    pub(crate) fn accepts(self, owner: &Owner<'_>, slice: &CompactSlice) -> bool {
        match self {
            Self::Enforce => owner.owns(slice),
            Self::Ignore => true,
            Self::RebuildOnForeignUid => owner.owns(slice) || !owner.replaces_owner_of(slice),
        }
    }

    /// Whether a slice has to be written for its owner reference alone.
    pub(crate) fn needs_owner_reference(self, owner: &Owner<'_>, slice: &CompactSlice) -> bool {
        self == Self::Ignore && !owner.owns(slice)
    }
}

impl<'a> Owner<'a> {
    /// The owner from the metadata of an object. Missing fields are empty.
    #[must_use]
    pub fn from_meta(api_version: &'a str, kind: &'a str, metadata: &'a ObjectMeta) -> Self {
        Self {
            api_version,
            kind,
            namespace: metadata.namespace.as_deref().unwrap_or_default(),
            name: metadata.name.as_deref().unwrap_or_default(),
            uid: metadata.uid.as_deref().unwrap_or_default(),
            terminating: metadata.deletion_timestamp.is_some(),
        }
    }

    /// Whether a slice has an owner reference to this owner, by uid, kind and API group, with any version (G16, R109).
    #[must_use]
    pub fn owns(&self, slice: &CompactSlice) -> bool {
        self.is_owner_in(&slice.metadata)
    }

    pub(crate) fn is_owner_in(&self, metadata: &ObjectMeta) -> bool {
        references_in(metadata).any(|reference| reference.uid == self.uid && self.is_of_kind(reference))
    }

    /// Whether a slice has an owner reference to an earlier owner of the same kind and name.
    fn replaces_owner_of(&self, slice: &CompactSlice) -> bool {
        references_in(&slice.metadata)
            .any(|reference| reference.name == self.name && reference.uid != self.uid && self.is_of_kind(reference))
    }

    fn is_of_kind(&self, reference: &OwnerReference) -> bool {
        reference.kind == self.kind && group(&reference.api_version) == group(self.api_version)
    }

    /// Adds our owner reference. It is no controller reference if there already is one: an object has at most one.
    pub(crate) fn adopt(&self, metadata: &mut ObjectMeta, options: OwnerReferenceOptions) {
        let has_controller = references_in(metadata).any(|reference| reference.controller == Some(true));
        let options = OwnerReferenceOptions {
            controller: options.controller && !has_controller,
            ..options
        };
        let references = metadata.owner_references.get_or_insert_default();
        references.push(self.reference(options));
    }

    pub(crate) fn reference(&self, options: OwnerReferenceOptions) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.to_owned(),
            kind: self.kind.to_owned(),
            name: self.name.to_owned(),
            uid: self.uid.to_owned(),
            controller: Some(options.controller),
            block_owner_deletion: Some(options.block_owner_deletion),
        }
    }
}

fn references_in(metadata: &ObjectMeta) -> impl Iterator<Item = &OwnerReference> {
    metadata.owner_references.iter().flatten()
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SERVICE: Owner<'_> = Owner {
        api_version: "v1",
        kind: "Service",
        namespace: "ns",
        name: "web",
        uid: "1",
        terminating: false,
    };

    fn owned(references: &Value) -> bool {
        let slice = json!({"metadata": {"ownerReferences": references}, "addressType": "IPv4"});
        SERVICE.owns(&CompactSlice::from(&serde_json::from_value(slice).unwrap()))
    }

    #[test]
    fn owner_from_metadata() {
        let metadata = |extra: Value| -> ObjectMeta {
            let mut metadata = json!({"namespace": "ns", "name": "web", "uid": "1"});
            metadata["deletionTimestamp"] = extra;
            serde_json::from_value(metadata).unwrap()
        };
        assert_eq!(Owner::from_meta("v1", "Service", &metadata(Value::Null)), SERVICE);
        let terminating = metadata(json!("2026-01-02T03:04:05Z"));
        assert!(Owner::from_meta("v1", "Service", &terminating).terminating);
        assert_eq!(Owner::from_meta("v1", "Service", &ObjectMeta::default()).uid, "");
    }

    #[test]
    fn r109_ownership_is_uid_kind_and_group() {
        let reference = |api_version: &str, kind: &str, uid: &str| json!({"apiVersion": api_version, "kind": kind, "name": "any", "uid": uid});
        assert!(owned(&json!([reference("v1", "Service", "1")])));
        assert!(owned(&json!([
            reference("v1", "Pod", "2"),
            reference("v2", "Service", "1")
        ])));
        assert!(!owned(&json!([reference("v1", "Service", "2")])));
        assert!(!owned(&json!([reference("v1", "Endpoints", "1")])));
        assert!(!owned(&json!([reference("serving.knative.dev/v1", "Service", "1")])));
        assert!(!owned(&Value::Null));
    }
}
