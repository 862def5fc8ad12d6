//! What a list or a watch consists of.

use std::{borrow::Cow, collections::HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde::Deserialize;
use serde_json::value::RawValue;
use slice_controller::{Decoded, ObjectRef};

use crate::client::ApiError;

/// One thing that a watch says.
pub(super) enum Frame<O> {
    Apply(Decoded<O>),
    Delete(ObjectRef),
    /// All is told up to this version.
    Bookmark {
        version: Box<str>,
        /// Whether these were all objects that there are.
        complete: bool,
    },
    Error(ApiError),
    /// An object that cannot be read; the watch goes on.
    Unreadable(Unreadable),
}

/// An object that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read: {error}", display_name(object_ref.as_ref()))]
pub(super) struct Unreadable {
    /// None if the metadata cannot be read either.
    pub(super) object_ref: Option<ObjectRef>,
    pub(super) error: serde_json::Error,
}

/// One page of a list.
pub(super) struct Page<O> {
    pub(super) objects: Vec<Result<Decoded<O>, Unreadable>>,
    pub(super) version: Box<str>,
    pub(super) continue_at: Box<str>,
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
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    resource_version: Box<str>,
    #[serde(rename = "continue")]
    continue_at: Box<str>,
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

/// Reads one line of a watch.
pub(super) fn read_frame<O>(
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
                version: given(metadata.resource_version)?,
                complete: metadata
                    .annotations
                    .get(INITIAL_EVENTS_END)
                    .is_some_and(|end| end == "true"),
            }
        }
        "DELETED" => Frame::Delete(ObjectRef::decode(object)?),
        _ => match read_object(object, decode) {
            Ok(decoded) => Frame::Apply(decoded),
            Err(unreadable) => Frame::Unreadable(unreadable),
        },
    })
}

/// Reads one page of a list.
pub(super) fn read_page<O>(
    body: &[u8],
    decode: impl Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error>,
) -> Result<Page<O>, serde_json::Error> {
    let list: List<'_> = serde_json::from_slice(body)?;
    let items = list.items.unwrap_or_default();
    Ok(Page {
        objects: items
            .iter()
            .map(|item| read_object(item.get().as_bytes(), &decode))
            .collect(),
        version: given(list.metadata.resource_version)?,
        continue_at: list.metadata.continue_at,
    })
}

/// Reads as of which version a list is.
pub(super) fn read_version(body: &[u8]) -> Result<Box<str>, serde_json::Error> {
    serde_json::from_slice(body).and_then(|list: List<'_>| given(list.metadata.resource_version))
}

/// The version of a list or of a bookmark, which the next watch starts from.
fn given(version: Box<str>) -> Result<Box<str>, serde_json::Error> {
    if version.is_empty() {
        return Err(serde::de::Error::custom("there is no resourceVersion"));
    }
    Ok(version)
}

fn read_object<O>(
    object: &[u8],
    decode: impl Fn(&[u8]) -> Result<Decoded<O>, serde_json::Error>,
) -> Result<Decoded<O>, Unreadable> {
    decode(object).map_err(|error| Unreadable {
        object_ref: ObjectRef::decode(object).ok(),
        error,
    })
}

/// The name of an object, for messages.
fn display_name(object: Option<&ObjectRef>) -> String {
    object.map_or_else(
        || "an object without readable metadata".to_owned(),
        |object| format!("{}/{}", object.namespace, object.name),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads the name, and wants it to begin with a letter.
    fn decode(object: &[u8]) -> Result<Decoded<String>, serde_json::Error> {
        let object_ref = ObjectRef::decode(object)?;
        if !object_ref.name.starts_with(char::is_alphabetic) {
            return Err(serde::de::Error::custom("no letter"));
        }
        Ok(Decoded {
            object: object_ref.name.to_string(),
            object_ref,
        })
    }

    fn read(line: &str) -> Frame<String> {
        read_frame(line.as_bytes(), decode).unwrap()
    }

    #[test]
    fn a_watch_says_one_thing_per_line() {
        let object = r#"{"metadata": {"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7"}}"#;
        for (kind, applied) in [("ADDED", true), ("MODIFIED", true), ("DELETED", false)] {
            let object_ref = match read(&format!(r#"{{"type": "{kind}", "object": {object}}}"#)) {
                Frame::Apply(decoded) if applied => decoded.object_ref,
                Frame::Delete(object_ref) if !applied => object_ref,
                _ => panic!("{kind}"),
            };
            assert_eq!((&*object_ref.namespace, &*object_ref.name), ("ns", "a"));
            assert_eq!((&*object_ref.uid, &*object_ref.resource_version), ("u", "7"));
        }
    }

    #[test]
    fn bookmarks_say_how_far_it_is_told() {
        for (annotations, expected) in [
            ("", false),
            (r#", "annotations": {"k8s.io/initial-events-end": "true"}"#, true),
        ] {
            let line =
                format!(r#"{{"type": "BOOKMARK", "object": {{"metadata": {{"resourceVersion": "9"{annotations}}}}}}}"#);
            assert!(
                matches!(read(&line), Frame::Bookmark { version, complete } if &*version == "9" && complete == expected)
            );
        }
    }

    #[test]
    fn an_error_is_an_event_too() {
        let frame = read(r#"{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}"#);
        assert!(matches!(frame, Frame::Error(error) if error.code == 410 && error.is("Expired")));
    }

    /// F25: one object that cannot be read does not stop the rest, and its end is still seen.
    #[test]
    fn an_unreadable_object_is_named() {
        let bad = r#"{"metadata": {"namespace": "ns", "name": "7"}}"#;
        let frame = read(&format!(r#"{{"type": "ADDED", "object": {bad}}}"#));
        assert!(
            matches!(frame, Frame::Unreadable(unreadable) if unreadable.to_string().starts_with("ns/7 cannot be read: no letter"))
        );
        assert!(matches!(
            read(&format!(r#"{{"type": "DELETED", "object": {bad}}}"#)),
            Frame::Delete(_)
        ));
        let list =
            format!(r#"{{"metadata": {{"resourceVersion": "3"}}, "items": [{bad}, {{"metadata": {{"name": "a"}}}}]}}"#);
        let page = read_page(list.as_bytes(), decode).unwrap();
        assert_eq!((&*page.version, &*page.continue_at), ("3", ""));
        assert_eq!(
            page.objects.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [false, true]
        );
        assert!(
            read_page(br#"{"metadata": {"resourceVersion": "3"}, "items": null}"#, decode)
                .unwrap()
                .objects
                .is_empty()
        );
        let frame = read(r#"{"type": "ADDED", "object": {"metadata": 7}}"#);
        assert!(
            matches!(frame, Frame::Unreadable(unreadable) if unreadable.object_ref.is_none()
                && unreadable.to_string().starts_with("an object without readable metadata cannot be read: invalid type"))
        );
    }

    /// A watch from an empty version begins with the current state, and deletions before it are missed.
    #[test]
    fn lists_and_bookmarks_have_a_version() {
        for metadata in ["{}", r#"{"resourceVersion": ""}"#] {
            let list = format!(r#"{{"metadata": {metadata}, "items": []}}"#);
            assert!(read_page(list.as_bytes(), decode).is_err(), "{list}");
            assert!(read_version(list.as_bytes()).is_err(), "{list}");
            let bookmark = format!(r#"{{"type": "BOOKMARK", "object": {{"metadata": {metadata}}}}}"#);
            assert!(read_frame(bookmark.as_bytes(), decode).is_err(), "{bookmark}");
        }
    }

    #[test]
    fn half_a_line_is_an_error() {
        assert!(read_frame(br#"{"type": "ADDED", "obj"#, decode).is_err());
    }

    /// Bad input, like that of the fuzz target, which has no way in here: whatever a server sends is read or refused.
    #[test]
    fn arbitrary_lines_and_pages_never_panic() {
        let metadata = json!({
            "namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7",
            "annotations": {INITIAL_EVENTS_END: "true"},
        });
        let status =
            json!({"code": 410, "reason": "Expired", "message": "too old", "details": {"retryAfterSeconds": 1}});
        let page =
            json!({"metadata": {"resourceVersion": "7", "continue": "here"}, "items": [{"metadata": metadata}, {}]});
        let object = json!({"metadata": metadata});
        let said = [
            ("ADDED", &object),
            ("DELETED", &object),
            ("BOOKMARK", &object),
            ("ERROR", &status),
        ];
        let lines = said.map(|(kind, object)| json!({"type": kind, "object": object}));
        let [mut read, mut refused] = [0, 0];
        for text in lines.iter().chain([&page]).map(|value| value.to_string().into_bytes()) {
            for seed in 0..2000 {
                let text = fuzzing::mutate(&text, seed);
                for readable in [
                    read_frame(&text, decode).is_ok(),
                    read_page(&text, decode).is_ok(),
                    read_version(&text).is_ok(),
                ] {
                    *(if readable { &mut read } else { &mut refused }) += 1;
                }
            }
        }
        assert!(read > 1000 && refused > 1000, "both happen: {read} and {refused} times");
    }
}
