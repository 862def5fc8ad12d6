//! In which form objects are shown: whole, only their metadata, or as rows of a table.

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
pub(crate) enum Form {
    Whole,
    Metadata,
    Table,
}

/// A resource and the form in which a request wants to see it.
#[derive(Clone, Copy)]
pub(crate) struct Presentation {
    pub(crate) resource: &'static Resource,
    pub(crate) form: Form,
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
struct Event<'a, T> {
    r#type: &'a str,
    object: &'a T,
}

const META: &str = "meta.k8s.io/v1";

impl Presentation {
    /// Reads the wish off the `Accept` header.
    pub(crate) fn negotiate(resource: &'static Resource, headers: &HeaderMap) -> Result<Self, ApiError> {
        let accepted = headers
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let form = accepted
            .split(',')
            .find_map(form)
            .ok_or_else(ApiError::not_acceptable)?;
        Ok(Self { resource, form })
    }

    fn fields<'a>(&self, object: &'a Object) -> serde_json::Result<Cow<'a, Fields>> {
        match &self.resource.codec.view {
            Some(view) => Ok(Cow::Owned((view.show)(self.resource, object)?)),
            None => Ok(Cow::Borrowed(&object.fields)),
        }
    }

    /// One object in full, whatever the form: what patches apply to.
    pub(crate) fn whole(&self, object: &Object) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(Typed {
            kind: self.resource.kind,
            api_version: &self.resource.api_version(),
            fields: &*self.fields(object)?,
        })
    }

    /// One object.
    pub(crate) fn one(&self, object: &Object) -> serde_json::Result<Vec<u8>> {
        self.with_object(object, true, |value| serde_json::to_vec(&value))
    }

    /// A list of objects.
    pub(crate) fn list(&self, objects: &[Arc<Object>], metadata: &ListMeta) -> serde_json::Result<Vec<u8>> {
        match self.form {
            Form::Table => serde_json::to_vec(&table::of(self.resource, objects, metadata, true)?),
            Form::Whole => {
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
            Form::Metadata => {
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

    /// One line of a watch. Only the first line of a table says what its columns are.
    pub(crate) fn line(&self, event: &str, object: &Object, first: bool) -> serde_json::Result<Bytes> {
        self.with_object(object, first, |object| line(event, &object))
    }

    /// A line that says how far a watch has come: an object with nothing but a version.
    pub(crate) fn bookmark(&self, revision: u64, initial_events_end: bool) -> serde_json::Result<Bytes> {
        let mut empty = (resources::stored_in(self.resource.table).codec.decode)(b"{}")?;
        if initial_events_end {
            let end = ("k8s.io/initial-events-end".to_owned(), "true".to_owned());
            empty.metadata_mut().annotations = Some([end].into());
        }
        let object = Object::new(&mut *empty, self.resource, revision)?;
        self.line("BOOKMARK", &object, false)
    }

    fn with_object<R>(
        &self,
        object: &Object,
        columns: bool,
        encode: impl FnOnce(Shown<'_>) -> serde_json::Result<R>,
    ) -> serde_json::Result<R> {
        match self.form {
            Form::Whole => encode(Shown::Object(Typed {
                kind: self.resource.kind,
                api_version: &self.resource.api_version(),
                fields: &*self.fields(object)?,
            })),
            Form::Metadata => encode(Shown::Object(Typed {
                kind: "PartialObjectMetadata",
                api_version: META,
                fields: &object.fields.metadata_only(),
            })),
            Form::Table => {
                let metadata = ListMeta {
                    resource_version: Some(object.revision.to_string()),
                    ..ListMeta::default()
                };
                encode(Shown::Table(table::of(self.resource, &[object], &metadata, columns)?))
            }
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Object(Typed<'a>),
    Table(table::Table<'a>),
}

/// A line of a watch around any object.
pub(crate) fn line(event: &str, object: &impl Serialize) -> serde_json::Result<Bytes> {
    let mut text = serde_json::to_vec(&Event { r#type: event, object })?;
    text.push(b'\n');
    Ok(text.into())
}

/// The form that one range of an `Accept` header asks for, if it can be served.
fn form(range: &str) -> Option<Form> {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    if !matches!(media_type, "" | "*/*" | "application/*" | "application/json") {
        return None;
    }
    match parts.find_map(|part| part.strip_prefix("as=")) {
        None => Some(Form::Whole),
        Some("Table") => Some(Form::Table),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Form::Metadata),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_headers() {
        for (accept, expected) in [
            ("", Some(Form::Whole)),
            ("*/*", Some(Form::Whole)),
            ("application/json", Some(Form::Whole)),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some(Form::Whole),
            ),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some(Form::Table),
            ),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some(Form::Metadata),
            ),
            ("application/json;stream=watch", Some(Form::Whole)),
            ("text/html", None),
        ] {
            assert_eq!(accept.split(',').find_map(form), expected, "{accept}");
        }
    }
}
