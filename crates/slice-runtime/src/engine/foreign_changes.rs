//! Reports of slices that another client changed, although they have our managed-by value.
//!
//! Another instance with that value, without leader election, would write against this one; so would a forgotten script.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::escape::Escaped;

/// Logs that a slice appeared at a version that no response to our own writes has had, the last of `changes`.
pub(super) fn log_change(slice: &ObjectMeta, changes: u64) {
    let namespace = slice.namespace.as_deref().unwrap_or_default();
    let name = slice.name.as_deref().unwrap_or_default();
    tracing::warn!(
        changes,
        slice = %Escaped(format_args!("{namespace}/{name}")),
        manager = %Escaped(last_manager(slice)),
        "another client changed EndpointSlices that have our managed-by value, this one last; they are repaired. If another \
         instance runs with the same --controller-name, give both the same Lease (--leader-elect), or one of them another name"
    );
}

/// The client that changed an object last, by its managedFields.
fn last_manager(object: &ObjectMeta) -> &str {
    let managers = object.managed_fields.iter().flatten();
    let last = managers.max_by_key(|entry| entry.time.as_ref().map(|time| time.0));
    last.and_then(|entry| entry.manager.as_deref()).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_manager_is_the_one_with_the_latest_time() {
        let entry = |manager: &str, time: &str| json!({"manager": manager, "time": time});
        let entries = [
            entry("a", "2026-01-01T00:00:00Z"),
            entry("b", "2026-01-02T00:00:00Z"),
            json!({"manager": "c"}),
        ];
        let object: ObjectMeta = serde_json::from_value(json!({"managedFields": entries})).unwrap();
        assert_eq!(last_manager(&object), "b");
        assert_eq!(last_manager(&ObjectMeta::default()), "unknown");
    }
}
