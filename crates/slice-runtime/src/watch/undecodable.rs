//! Which undecodable objects were reported.

use std::collections::HashMap;

use slice_controller::ObjectRef;

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
