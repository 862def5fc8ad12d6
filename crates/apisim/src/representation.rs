//! Content negotiation and the representations of objects: full, metadata only, or a table.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, header};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::Serialize;

use crate::{
    object::{Fields, Object, Typed},
    resources::{self, Resource},
    status::ApiError,
    table,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Representation {
    Full,
    /// `PartialObjectMetadata`
    Metadata,
    Table,
}

/// A resource and the negotiated representation of its objects.
#[derive(Clone, Copy)]
pub(crate) struct Negotiated {
    pub(crate) resource: &'static Resource,
    pub(crate) representation: Representation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a, T> {
    kind: &'a str,
    api_version: &'a str,
    metadata: &'a ListMeta,
    items: Vec<T>,
}

#[derive(Serialize)]
struct WatchEvent<'a, T> {
    r#type: &'a str,
    object: &'a T,
}

const META: &str = "meta.k8s.io/v1";

impl Negotiated {
    /// Selects the representation from the `Accept` header.
    pub(crate) fn negotiate(resource: &'static Resource, headers: &HeaderMap) -> Result<Self, ApiError> {
        let accepted = headers
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let representation = accepted
            .split(',')
            .find_map(representation)
            .ok_or_else(ApiError::not_acceptable)?;
        Ok(Self {
            resource,
            representation,
        })
    }

    fn fields<'a>(&self, object: &'a Object) -> serde_json::Result<Cow<'a, Fields>> {
        match &self.resource.codec.view {
            Some(view) => Ok(Cow::Owned((view.convert)(self.resource, object)?)),
            None => Ok(Cow::Borrowed(&object.fields)),
        }
    }

    /// The full object, independent of the negotiated representation. Patches apply to it.
    pub(crate) fn full(&self, object: &Object) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(Typed {
            kind: self.resource.kind,
            api_version: &self.resource.api_version(),
            fields: &*self.fields(object)?,
        })
    }

    /// Encodes an object.
    pub(crate) fn object(&self, object: &Object) -> serde_json::Result<Vec<u8>> {
        self.with_object(object, true, |value| serde_json::to_vec(&value))
    }

    /// Encodes a list of objects.
    pub(crate) fn list(&self, objects: &[Arc<Object>], metadata: &ListMeta) -> serde_json::Result<Vec<u8>> {
        match self.representation {
            Representation::Table => serde_json::to_vec(&table::of(self.resource, objects, metadata, true)?),
            Representation::Full => {
                let items: Vec<_> = objects
                    .iter()
                    .map(|object| self.fields(object))
                    .collect::<Result<_, _>>()?;
                serde_json::to_vec(&List {
                    kind: &format!("{}List", self.resource.kind),
                    api_version: &self.resource.api_version(),
                    metadata,
                    items: items.iter().map(AsRef::as_ref).collect(),
                })
            }
            Representation::Metadata => {
                let items: Vec<Fields> = objects.iter().map(|object| object.fields.metadata_only()).collect();
                let typed = |fields| Typed {
                    kind: "PartialObjectMetadata",
                    api_version: META,
                    fields,
                };
                serde_json::to_vec(&List {
                    kind: "PartialObjectMetadataList",
                    api_version: META,
                    metadata,
                    items: items.iter().map(typed).collect(),
                })
            }
        }
    }

    /// Encodes a watch event. In a table representation only the first event has the column definitions.
    pub(crate) fn watch_event(&self, event_type: &str, object: &Object, first: bool) -> serde_json::Result<Bytes> {
        self.with_object(object, first, |object| encode_watch_event(event_type, &object))
    }

    /// Encodes a bookmark: an object with only a resourceVersion.
    pub(crate) fn bookmark(&self, revision: u64, initial_events_end: bool) -> serde_json::Result<Bytes> {
        let mut empty = (resources::stored_in(self.resource.table).codec.decode)(b"{}")?;
        if initial_events_end {
            let end = ("k8s.io/initial-events-end".to_owned(), "true".to_owned());
            empty.metadata_mut().annotations = Some([end].into());
        }
        let object = Object::new(&mut *empty, self.resource, revision)?;
        self.watch_event("BOOKMARK", &object, false)
    }

    fn with_object<R>(
        &self,
        object: &Object,
        columns: bool,
        encode: impl FnOnce(RepresentedObject<'_>) -> serde_json::Result<R>,
    ) -> serde_json::Result<R> {
        match self.representation {
            Representation::Full => encode(RepresentedObject::Object(Typed {
                kind: self.resource.kind,
                api_version: &self.resource.api_version(),
                fields: &*self.fields(object)?,
            })),
            Representation::Metadata => encode(RepresentedObject::Object(Typed {
                kind: "PartialObjectMetadata",
                api_version: META,
                fields: &object.fields.metadata_only(),
            })),
            Representation::Table => {
                let metadata = ListMeta {
                    resource_version: Some(object.revision.to_string()),
                    ..ListMeta::default()
                };
                encode(RepresentedObject::Table(table::of(
                    self.resource,
                    &[object],
                    &metadata,
                    columns,
                )?))
            }
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum RepresentedObject<'a> {
    Object(Typed<'a>),
    Table(table::Table<'a>),
}

/// Encodes a watch event with any object, as one line.
pub(crate) fn encode_watch_event(event_type: &str, object: &impl Serialize) -> serde_json::Result<Bytes> {
    let mut text = serde_json::to_vec(&WatchEvent {
        r#type: event_type,
        object,
    })?;
    text.push(b'\n');
    Ok(text.into())
}

/// The representation for one media range of an `Accept` header, if the server supports it.
fn representation(range: &str) -> Option<Representation> {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    if !matches!(media_type, "" | "*/*" | "application/*" | "application/json") {
        return None;
    }
    match parts.find_map(|part| part.strip_prefix("as=")) {
        None => Some(Representation::Full),
        Some("Table") => Some(Representation::Table),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Representation::Metadata),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_headers() {
        for (accept, expected) in [
            ("", Some(Representation::Full)),
            ("*/*", Some(Representation::Full)),
            ("application/json", Some(Representation::Full)),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some(Representation::Full),
            ),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some(Representation::Table),
            ),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some(Representation::Metadata),
            ),
            ("application/json;stream=watch", Some(Representation::Full)),
            ("text/html", None),
        ] {
            assert_eq!(accept.split(',').find_map(representation), expected, "{accept}");
        }
    }
}
