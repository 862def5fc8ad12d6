//! Actions on a cluster.

use serde_json::Value;

/// An action: one request, or for slices as many as it needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Creates an object with its status.
    Create(Value),
    /// Applies a merge patch to an object.
    Change {
        kind: &'static str,
        name: String,
        patch: Value,
    },
    /// Applies a merge patch to the status of an object.
    Status {
        kind: &'static str,
        name: String,
        status: Value,
    },
    /// Deletes an object; a pod with its grace period, or without.
    Delete {
        kind: &'static str,
        name: String,
        graceful: bool,
    },
    /// Edits a slice of a Service, chosen by index.
    Slice {
        service: String,
        nth: usize,
        edit: SliceEdit,
    },
}

/// A manual edit of a slice.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SliceEdit {
    Delete,
    /// Applies a merge patch.
    Edit(Value),
    /// Sets the readiness of the first endpoint.
    Readiness(bool),
    /// Creates a copy with the same content.
    Duplicate {
        name: String,
    },
    /// Removes its finalizers.
    Release,
}
