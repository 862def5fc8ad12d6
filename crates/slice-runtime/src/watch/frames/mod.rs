//! Decoding of lists and of the lines of a watch stream.

use std::{borrow::Cow, collections::HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde::Deserialize;
use serde_json::value::RawValue;
use slice_controller::{Decoded, ObjectRef};

use super::epoch::ConsistentRead;
use crate::{client::ApiError, escape::Escaped};

/// One line of a watch stream.
pub(super) enum Frame<O> {
    Apply(Decoded<O>),
    Delete(ObjectRef),
    /// All events up to this resourceVersion were sent.
    Bookmark {
        version: Box<str>,
        /// Whether it ends the initial events of a streaming list.
        initial_events_end: bool,
    },
    /// An ERROR event, which ends the watch.
    Error(ApiError),
    /// An object that cannot be decoded; the watch goes on.
    Undecodable(Undecodable),
}

/// An object that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode {}: {}", display_name(object_ref.as_ref()), Escaped(error))]
pub(super) struct Undecodable {
    /// None if the metadata cannot be decoded either.
    pub(super) object_ref: Option<ObjectRef>,
    /// The kind, from the object or the list; None if neither has it.
    pub(super) kind: Option<Box<str>>,
    pub(super) error: serde_json::Error,
}

/// One page of a list.
pub(super) struct Page<O> {
    pub(super) objects: Vec<Result<Decoded<O>, Undecodable>>,
    pub(super) version: Box<str>,
    pub(super) continue_token: Box<str>,
}

#[derive(Deserialize)]
struct EventLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    resource_version: Box<str>,
    #[serde(rename = "continue")]
    continue_token: Box<str>,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata {
    resource_version: Box<str>,
    #[serde(default)]
    annotations: HashMap<String, String>,
}

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Decodes one line of a watch stream.
pub(super) fn decode_frame<O>(
    line: &[u8],
    decode: impl Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error>,
) -> Result<Frame<O>, serde_json::Error> {
    let event: EventLine<'_> = serde_json::from_slice(line)?;
    let object = event.object.get().as_bytes();
    Ok(match &*event.kind {
        "ERROR" => Frame::Error(ApiError::from_event(serde_json::from_slice::<Status>(object)?)),
        "BOOKMARK" => {
            let Bookmark { metadata } = serde_json::from_slice(object)?;
            Frame::Bookmark {
                version: non_empty(metadata.resource_version)?,
                initial_events_end: metadata
                    .annotations
                    .get(INITIAL_EVENTS_END)
                    .is_some_and(|end| end == "true"),
            }
        }
        "DELETED" => Frame::Delete(ObjectRef::decode(object)?),
        _ => match decode_object(object, None, decode) {
            Ok(decoded) => Frame::Apply(decoded),
            Err(undecodable) => Frame::Undecodable(undecodable),
        },
    })
}

/// Decodes one page of a list.
pub(super) fn decode_page<O>(
    body: &[u8],
    decode: impl Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error>,
) -> Result<Page<O>, serde_json::Error> {
    let list: List<'_> = serde_json::from_slice(body)?;
    let items = list.items.unwrap_or_default();
    // The items of a list have no kind.
    let kind = list.kind.strip_suffix("List");
    Ok(Page {
        objects: items
            .iter()
            .map(|item| decode_object(item.get().as_bytes(), kind, &decode))
            .collect(),
        version: non_empty(list.metadata.resource_version)?,
        continue_token: list.metadata.continue_token,
    })
}

/// Decodes the resourceVersion of a list, and its first object.
pub(super) fn decode_read(body: &[u8]) -> Result<ConsistentRead, serde_json::Error> {
    let list: List<'_> = serde_json::from_slice(body)?;
    let first = list.items.and_then(|items| items.into_iter().next());
    Ok(ConsistentRead {
        version: non_empty(list.metadata.resource_version)?,
        object: first
            .map(|object| ObjectRef::decode(object.get().as_bytes()))
            .transpose()?,
    })
}

/// Checks the resourceVersion of a list or a bookmark: a watch from an empty one would miss deletions.
fn non_empty(version: Box<str>) -> Result<Box<str>, serde_json::Error> {
    if version.is_empty() {
        return Err(serde::de::Error::custom("the resourceVersion is missing"));
    }
    Ok(version)
}

fn decode_object<O>(
    object: &[u8],
    list_kind: Option<&str>,
    decode: impl Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error>,
) -> Result<Decoded<O>, Undecodable> {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<Box<str>>,
    }
    decode(object).map_err(|error| Undecodable {
        object_ref: ObjectRef::decode(object).ok(),
        kind: serde_json::from_slice(object).map_or(None, |Kind { kind }| kind.or_else(|| list_kind.map(Into::into))),
        error,
    })
}

/// Namespace and name of an object, for messages.
fn display_name(object: Option<&ObjectRef>) -> String {
    object.map_or_else(
        || "an object without valid metadata".to_owned(),
        |object| Escaped(format_args!("{}/{}", object.namespace, object.name)).to_string(),
    )
}

#[cfg(test)]
mod tests;
