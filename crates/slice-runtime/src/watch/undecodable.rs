//! The event about an undecodable object, and which objects were reported.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ObjectReference;
use slice_controller::{Event, EventSpec, ObjectRef};
use slice_core::EventType;

use super::frames::Undecodable;
use crate::escape::Escaped;

/// The event about an object that cannot be decoded.
pub(crate) static UNDECODABLE_OBJECT: EventSpec = EventSpec {
    reason: "UndecodableObject",
    event_type: EventType::Warning,
    help: "A watched object cannot be decoded; this version of it is skipped, an earlier one stays in use",
};

impl Undecodable {
    /// The event about the object. None if its kind, name or uid is unknown; a watch of metadata does not show the kind.
    pub(super) fn event(&self, group_version: &str) -> Option<Event> {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let object = self.object_ref.as_ref()?;
        let kind = self.kind.as_deref().filter(|kind| *kind != "PartialObjectMetadata")?;
        Some(Event {
            regarding: ObjectReference {
                api_version: Some(group_version.to_owned()),
                kind: Some(some(kind)?),
                namespace: some(&object.namespace),
                name: Some(some(&object.name)?),
                uid: Some(some(&object.uid)?),
                ..ObjectReference::default()
            },
            event_type: UNDECODABLE_OBJECT.event_type,
            reason: UNDECODABLE_OBJECT.reason.into(),
            message: format!(
                "cannot decode this version of the object, which is skipped: {}",
                Escaped(&self.error)
            ),
        })
    }
}

/// Undecodable objects to remember. Beyond that, objects are reported again.
const CAPACITY: usize = 1024;

/// The undecodable objects that were reported, so that each version is reported once, however often it is listed.
#[derive(Debug, Default)]
pub(super) struct ReportedObjects {
    /// The resourceVersion by uid.
    versions: HashMap<Box<str>, Box<str>>,
}

impl ReportedObjects {
    /// Whether this version of an object was not reported before.
    pub(super) fn insert(&mut self, object: &ObjectRef) -> bool {
        if self.versions.get(&object.uid) == Some(&object.resource_version) {
            return false;
        }
        if self.versions.len() >= CAPACITY {
            self.versions.clear();
        }
        self.versions
            .insert(object.uid.clone(), object.resource_version.clone());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_reported_once_and_memory_is_bounded() {
        let object = |uid: usize, version: &str| ObjectRef {
            uid: uid.to_string().into(),
            resource_version: version.into(),
            ..ObjectRef::default()
        };
        let mut reported = ReportedObjects::default();
        assert!(reported.insert(&object(0, "1")) && reported.insert(&object(0, "2")));
        assert!(!reported.insert(&object(0, "2")));
        for uid in 0..5 * CAPACITY {
            reported.insert(&object(uid, "1"));
            assert!(reported.versions.len() <= CAPACITY);
        }
    }
}
