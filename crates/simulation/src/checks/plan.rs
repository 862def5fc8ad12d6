//! A plan is not based on incomplete or older state (I11).

use std::collections::BTreeMap;

use slice_reconciler::Operation;
use slice_runtime::simulation::Plan;

use super::{Violation, ensure};
use crate::controller::Seen;

/// `seen` has the newest state of each slice name that the engine has received.
pub(crate) fn check(plan: &Plan, is_synced: bool, seen: &BTreeMap<String, Seen>) -> Result<(), Violation> {
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
        let newest = seen.get(name).copied().unwrap_or_default();
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
    use slice_controller::Key;
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
            max_in_flight: std::num::NonZeroUsize::MIN,
        };
        let violated = |version| {
            let seen = Seen {
                version,
                deleted: false,
            };
            check(&plan, true, &[("a".to_owned(), seen)].into())
                .err()
                .map(|violation| violation.invariant)
        };
        assert_eq!([1, 2, 3].map(violated), [None, None, Some("I11")]);
    }
}
