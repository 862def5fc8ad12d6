//! For whom slices exist.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use slice_core::CompactSlice;

/// The object that slices exist for, of whatever kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its API group and version, such as `v1`; objects read through typed clients do not know theirs.
    pub api_version: &'a str,
    /// Its kind, such as `Service`.
    pub kind: &'a str,
    /// Its namespace, which is also that of its slices.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its uid: an object of the same name that comes after it is another owner.
    pub uid: &'a str,
    /// Whether it is being deleted. No new slices are made for it then.
    pub terminating: bool,
}

/// How an owner reference reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReferenceOptions {
    /// Whether the owner is the managing controller of the slice.
    pub controller: bool,
    /// Whether a foreground deletion of the owner waits for the slice.
    pub block_owner_deletion: bool,
}

impl Default for OwnerReferenceOptions {
    /// As the built-in controllers have it.
    fn default() -> Self {
        Self {
            controller: true,
            block_owner_deletion: true,
        }
    }
}

/// What is done with slices that carry our labels but belong to another owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// They are deleted, and never reused (I7).
    #[default]
    Enforce,
    /// They are adopted: used like our own, and given our owner reference at once, so that they do not outlive us (G16).
    Ignore,
    /// Those of an earlier owner of the same kind and name are deleted (I7). Others are adopted, and given our owner reference
    /// when they are next written: none is written for that alone (G53, M83).
    RebuildOnForeignUid,
}

impl Ownership {
    /// Whether a slice with our labels is ours to use.
    pub(crate) fn takes(self, owner: &Owner<'_>, slice: &CompactSlice) -> bool {
        match self {
            Self::Enforce => owner.owns(slice),
            Self::Ignore => true,
            Self::RebuildOnForeignUid => owner.owns(slice) || !owner.succeeds_owner_of(slice),
        }
    }

    /// Whether a slice that is ours to use has to be written for its owner reference alone.
    pub(crate) fn differs(self, owner: &Owner<'_>, slice: &CompactSlice) -> bool {
        self == Self::Ignore && !owner.owns(slice)
    }
}

impl<'a> Owner<'a> {
    /// The owner that an object is; what its metadata lacks is empty.
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

    /// Whether a slice has a reference to this owner: by uid, kind and API group, whatever the version (G16, R109).
    #[must_use]
    pub fn owns(&self, slice: &CompactSlice) -> bool {
        self.is_owner_in(&slice.metadata)
    }

    pub(crate) fn is_owner_in(&self, metadata: &ObjectMeta) -> bool {
        references_in(metadata).any(|reference| reference.uid == self.uid && self.is_of_kind(reference))
    }

    /// Whether a slice has a reference to an owner of the same kind and name that was there before.
    fn succeeds_owner_of(&self, slice: &CompactSlice) -> bool {
        references_in(&slice.metadata)
            .any(|reference| reference.name == self.name && reference.uid != self.uid && self.is_of_kind(reference))
    }

    fn is_of_kind(&self, reference: &OwnerReference) -> bool {
        reference.kind == self.kind && group(&reference.api_version) == group(self.api_version)
    }

    /// Adds our reference to those that a slice has. An object has one managing controller at most.
    pub(crate) fn adopt(&self, metadata: &mut ObjectMeta, flags: OwnerReferenceOptions) {
        let has_controller = references_in(metadata).any(|reference| reference.controller == Some(true));
        let flags = OwnerReferenceOptions {
            controller: flags.controller && !has_controller,
            ..flags
        };
        let references = metadata.owner_references.get_or_insert_default();
        references.push(self.reference(flags));
    }

    pub(crate) fn reference(&self, flags: OwnerReferenceOptions) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.to_owned(),
            kind: self.kind.to_owned(),
            name: self.name.to_owned(),
            uid: self.uid.to_owned(),
            controller: Some(flags.controller),
            block_owner_deletion: Some(flags.block_owner_deletion),
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
    fn an_owner_is_read_from_its_metadata() {
        let metadata = |extra: Value| -> ObjectMeta {
            let mut metadata = json!({"namespace": "ns", "name": "web", "uid": "1"});
            metadata["deletionTimestamp"] = extra;
            serde_json::from_value(metadata).unwrap()
        };
        assert_eq!(Owner::from_meta("v1", "Service", &metadata(Value::Null)), SERVICE);
        let going = metadata(json!("2026-01-02T03:04:05Z"));
        assert!(Owner::from_meta("v1", "Service", &going).terminating);
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
