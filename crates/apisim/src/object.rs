//! Stored objects: the JSON text of each top-level field, and the fields that selectors and the garbage collector need.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;

use crate::{any_kind::AnyKind, resources::Resource};

/// An object at one resourceVersion. Immutable: an update stores a new `Object`.
#[derive(Debug)]
pub(crate) struct Object {
    /// The revision of the write that stored this version: its resourceVersion.
    pub(crate) revision: u64,
    pub(crate) name: Box<str>,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: Box<str>,
    pub(crate) uid: Box<str>,
    /// Whether it has a deletionTimestamp.
    pub(crate) deleting: bool,
    pub(crate) labels: BTreeMap<String, String>,
    /// The fields for field selectors, besides name and namespace.
    pub(crate) selectable: Vec<(&'static str, String)>,
    pub(crate) owners: Vec<OwnerRef>,
    /// The JSON of the top-level fields.
    pub(crate) fields: Fields,
}

/// The part of an ownerReference that the garbage collector needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerRef {
    pub(crate) kind: Box<str>,
    pub(crate) uid: Box<str>,
    pub(crate) block_owner_deletion: bool,
}

impl Object {
    /// Encodes an object at a revision. Revision 0 means that the object is not stored; it gets no resourceVersion.
    pub(crate) fn new(object: &mut dyn AnyKind, resource: &Resource, revision: u64) -> serde_json::Result<Self> {
        object.metadata_mut().resource_version = (revision > 0).then(|| revision.to_string());
        let metadata = object.metadata();
        let owners = metadata.owner_references.iter().flatten();
        Ok(Self {
            revision,
            name: metadata.name.clone().unwrap_or_default().into(),
            namespace: metadata.namespace.clone().unwrap_or_default().into(),
            uid: metadata.uid.clone().unwrap_or_default().into(),
            deleting: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.clone().unwrap_or_default(),
            selectable: object.selectable_fields(),
            owners: owners
                .map(|owner| OwnerRef {
                    kind: owner.kind.as_str().into(),
                    uid: owner.uid.as_str().into(),
                    block_owner_deletion: owner.block_owner_deletion == Some(true),
                })
                .collect(),
            fields: Fields::new(&object.encode()?, resource)?,
        })
    }

    /// The same content with another resourceVersion, as in a DELETED watch event.
    pub(crate) fn with_revision(&self, revision: u64) -> serde_json::Result<Self> {
        let mut metadata = self.metadata()?;
        metadata.resource_version = Some(revision.to_string());
        Ok(Self {
            revision,
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            uid: self.uid.clone(),
            deleting: self.deleting,
            labels: self.labels.clone(),
            selectable: self.selectable.clone(),
            owners: self.owners.clone(),
            fields: self
                .fields
                .with("metadata", serde_json::value::to_raw_value(&metadata)?),
        })
    }

    /// Decodes the metadata.
    pub(crate) fn metadata(&self) -> serde_json::Result<ObjectMeta> {
        match self.fields.get("metadata") {
            Some(text) => serde_json::from_str(text.get()),
            None => Ok(ObjectMeta::default()),
        }
    }

    /// The key of the object in its table: `namespace/name`, or the name if it is cluster-scoped.
    pub(crate) fn key(&self) -> String {
        key(&self.namespace, &self.name)
    }
}

/// The key of an object in its table. Lists are ordered by key.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// The top-level fields of an object, without `kind` and `apiVersion`, each as raw JSON.
#[derive(Clone, Debug)]
pub(crate) struct Fields(Box<[(Box<str>, Box<RawValue>)]>);

impl Fields {
    /// Splits an encoded object into its fields.
    pub(crate) fn new(text: &str, resource: &Resource) -> serde_json::Result<Self> {
        let mut fields: BTreeMap<Box<str>, Box<RawValue>> = serde_json::from_str(text)?;
        fields.remove("kind");
        fields.remove("apiVersion");
        for name in resource.null_when_empty {
            if fields.get(*name).is_none_or(|text| text.get() == "[]") {
                fields.insert((*name).into(), RawValue::NULL.to_owned());
            }
        }
        Ok(Self(fields.into_iter().collect()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(field, _)| &**field == name)?;
        Some(&found.1)
    }

    fn with(&self, name: &str, text: Box<RawValue>) -> Self {
        let mut fields = self.clone();
        if let Some(field) = fields.0.iter_mut().find(|(field, _)| &**field == name) {
            field.1 = text;
        }
        fields
    }

    /// Only the metadata.
    pub(crate) fn metadata_only(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(field, _)| &**field == "metadata")
                .cloned()
                .collect(),
        )
    }

    /// Whether all fields have equal JSON text.
    pub(crate) fn json_eq(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.all(|(one, other)| one.0 == other.0 && one.1.get() == other.1.get())
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
    }
}

/// An object with `kind` and `apiVersion`, as it is encoded everywhere except inside a list.
#[derive(Clone, Copy)]
pub(crate) struct Typed<'a> {
    pub(crate) kind: &'a str,
    pub(crate) api_version: &'a str,
    pub(crate) fields: &'a Fields,
}

impl Serialize for Typed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.0.len() + 2))?;
        map.serialize_entry("kind", self.kind)?;
        map.serialize_entry("apiVersion", self.api_version)?;
        for (name, text) in &self.fields.0 {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{self, Table};

    fn object(table: Table, text: &str) -> Object {
        let resource = resources::stored_in(table);
        let mut kind = (resource.codec.decode)(text.as_bytes()).unwrap();
        Object::new(&mut *kind, resource, 7).unwrap()
    }

    #[test]
    fn r148_empty_endpoints_and_ports_are_null() {
        for text in [
            r#"{"metadata":{"name":"a"},"addressType":"IPv4"}"#,
            r#"{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[],"ports":[]}"#,
        ] {
            assert_eq!(
                serde_json::to_value(&object(Table::EndpointSlices, text).fields).unwrap(),
                serde_json::json!({
                    "metadata": {"name": "a", "resourceVersion": "7"},
                    "addressType": "IPv4", "endpoints": null, "ports": null,
                })
            );
        }
    }

    #[test]
    fn with_revision_changes_only_the_resource_version() {
        let object = object(Table::Endpoints, r#"{"metadata":{"name":"a","namespace":"n"}}"#);
        assert_eq!(
            serde_json::to_value(&object.with_revision(9).unwrap().fields).unwrap(),
            serde_json::json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "9"}})
        );
    }
}
