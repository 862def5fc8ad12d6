//! A plan is not based on incomplete or older state (I11).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slice_controller::{Key, ObjectRef};
use slice_core::well_known::SERVICE_NAME_LABEL;
use slice_reconciler::Operation;
use slice_runtime::simulation::Plan;

use super::{Violation, ensure};
use crate::object::{Name, label, uid, version};

/// The newest state of each slice that an engine has received, by events and responses. By key and name: a name can belong to a
/// deleted slice of one key and to a new slice of another.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenSlices(BTreeMap<(Key, Name), Seen>);

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    version: u64,
    uid: String,
    deleted: bool,
}

impl SeenSlices {
    /// A version of a slice was received.
    pub(crate) fn apply(&mut self, slice: &ObjectMeta) {
        let seen = Seen {
            version: version(slice),
            uid: uid(slice).to_owned(),
            deleted: false,
        };
        let name = Name::of(slice);
        if let Some(service) = label(slice, SERVICE_NAME_LABEL) {
            let key = Key::new(name.namespace, service);
            let found = self.0.entry((key, name.clone())).or_default();
            if seen.version > found.version {
                found.clone_from(&seen);
            }
        }
        self.update(&name, &seen);
    }

    /// The deletion of a slice was received.
    pub(crate) fn delete(&mut self, slice: &ObjectRef) {
        let seen = Seen {
            version: slice.resource_version.parse().expect("the server has numeric versions"),
            uid: slice.uid.to_string(),
            deleted: true,
        };
        self.update(&Name::new(&slice.namespace, &*slice.name), &seen);
    }

    /// A version of a slice was received that cannot be decoded.
    pub(crate) fn undecodable(&mut self, slice: &ObjectRef) {
        let seen = Seen {
            version: slice.resource_version.parse().expect("the server has numeric versions"),
            uid: slice.uid.to_string(),
            deleted: false,
        };
        self.update(&Name::new(&slice.namespace, &*slice.name), &seen);
    }

    /// Updates the slice of this uid in all keys: it may have moved.
    fn update(&mut self, name: &Name, seen: &Seen) {
        for ((_, found_name), found) in &mut self.0 {
            if found_name == name && found.uid == seen.uid && seen.version > found.version {
                found.clone_from(seen);
            }
        }
    }

    /// resourceVersions went back.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn newest(&self, key: &Key, name: &str) -> Option<&Seen> {
        self.0.get(&(key.clone(), Name::new(&key.namespace, name)))
    }
}

/// Checks a plan with writes.
pub(crate) fn check(plan: &Plan, is_synced: bool, seen: &SeenSlices) -> Result<(), Violation> {
    let key = &plan.key;
    ensure(is_synced, "I11", || {
        format!("{key} was planned before all lists were complete")
    })?;
    for write in &plan.writes {
        let (name, version) = match &write.operation {
            Operation::Create(_) => continue,
            Operation::Update(slice) => (
                slice.metadata.name.as_deref(),
                slice.metadata.resource_version.as_deref(),
            ),
            Operation::Delete(deletion) => (Some(&*deletion.name), deletion.resource_version.as_deref()),
        };
        let (Some(name), Some(version)) = (name, version.and_then(|version| version.parse::<u64>().ok())) else {
            continue;
        };
        let Some(newest) = seen.newest(key, name) else { continue };
        ensure(version >= newest.version, "I11", || {
            let what = if newest.deleted {
                "its deletion"
            } else {
                "a newer slice"
            };
            let newest = newest.version;
            format!("{key} was planned from {name} at version {version}, after {what} at version {newest} was received")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use slice_reconciler::{DeleteSlice, Write};

    use super::*;

    #[test]
    fn plans_from_older_versions_are_found() {
        let deletion = DeleteSlice {
            name: "a".to_owned(),
            resource_version: Some("2".to_owned()),
            ..DeleteSlice::default()
        };
        let plan = Plan {
            key: Key::new("ns", "web"),
            writes: vec![Write {
                operation: Operation::Delete(deletion),
                depends_on: Vec::new(),
            }],
            probe: false,
        };
        let violated = |version: u64| {
            let mut seen = SeenSlices::default();
            seen.apply(&ObjectMeta {
                name: Some("a".to_owned()),
                namespace: Some("ns".to_owned()),
                resource_version: Some(version.to_string()),
                labels: Some([(SERVICE_NAME_LABEL.to_owned(), "web".to_owned())].into()),
                ..ObjectMeta::default()
            });
            let result = check(&plan, true, &seen);
            result.err().map(|violation| violation.invariant)
        };
        assert_eq!([1, 2, 3].map(violated), [None, None, Some("I11")]);
    }
}
