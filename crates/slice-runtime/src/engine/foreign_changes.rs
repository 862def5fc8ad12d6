//! Reports of slices that another client changed, although they have our managed-by value.
//!
//! Another instance with that value, without leader election, would write against this one; so would a forgotten script.

use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::escape::Escaped;

/// The least time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Counts foreign changes between log lines.
#[derive(Debug, Default)]
pub(super) struct ForeignChanges {
    logged_at: Option<Instant>,
    not_logged: u64,
}

impl ForeignChanges {
    /// A slice appeared at a version that no response to our own writes has had. Returns whether it was logged.
    pub(super) fn report(&mut self, slice: &ObjectMeta, now: Instant) -> bool {
        let repeats = |at: Instant| now.saturating_duration_since(at) >= LOG_INTERVAL;
        if !self.logged_at.is_none_or(repeats) {
            self.not_logged += 1;
            return false;
        }
        self.logged_at = Some(now);
        let namespace = slice.namespace.as_deref().unwrap_or_default();
        let name = slice.name.as_deref().unwrap_or_default();
        tracing::warn!(
            slice = %Escaped(format_args!("{namespace}/{name}")),
            manager = %Escaped(last_manager(slice)),
            not_logged = std::mem::take(&mut self.not_logged),
            "another client changed an EndpointSlice that has our managed-by value; it is repaired. If another instance runs with \
             the same --controller-name, give both the same Lease (--leader-elect), or one of them another name"
        );
        true
    }
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

    #[test]
    fn one_line_per_minute_is_logged() {
        let (mut changes, start) = (ForeignChanges::default(), Instant::now());
        let logged = [0, 1, 59, 60, 61].map(|seconds| {
            let now = start + Duration::from_secs(seconds);
            changes.report(&ObjectMeta::default(), now)
        });
        assert_eq!(logged, [true, false, false, true, false]);
    }
}
