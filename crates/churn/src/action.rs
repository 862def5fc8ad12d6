//! Actions on a cluster.

use serde_json::Value;

/// An action: one request, or for slices as many as it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Creates an object with its status.
    Create(Value),
    /// Applies a merge patch to an object.
    Change {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The patch.
        patch: Value,
    },
    /// Applies a merge patch to the status of an object.
    Status {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The patch.
        status: Value,
    },
    /// Deletes an object.
    Delete {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Whether a pod has its grace period.
        graceful: bool,
    },
    /// Edits a slice of a Service.
    Slice {
        /// The Service.
        service: String,
        /// The index of the slice, modulo their number.
        nth: usize,
        /// The edit.
        edit: SliceEdit,
    },
}

/// A manual edit of a slice.
#[derive(Clone, Debug, PartialEq)]
pub enum SliceEdit {
    /// Deletes it.
    Delete,
    /// Applies a merge patch.
    Edit(Value),
    /// Sets the readiness of the first endpoint.
    Readiness(bool),
    /// Creates a copy with the same content.
    Duplicate {
        /// The name of the copy.
        name: String,
    },
    /// Removes its finalizers.
    Release,
}
