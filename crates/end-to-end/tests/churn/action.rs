//! What is done to a cluster.

use serde_json::Value;

/// One request, or for slices whatever it takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// An object is made, with its status.
    Create(Value),
    /// An object is changed by a merge patch.
    Change {
        kind: &'static str,
        name: String,
        patch: Value,
    },
    /// The status of an object is changed by a merge patch.
    Status {
        kind: &'static str,
        name: String,
        status: Value,
    },
    /// An object is deleted: a pod with all its grace, or without.
    Delete {
        kind: &'static str,
        name: String,
        graceful: bool,
    },
    /// Something is done by hand to one of the slices of a Service, which one is said by a number.
    Slice { service: String, nth: usize, deed: Deed },
}

/// What is done to a slice by hand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    Delete,
    /// It is changed by a merge patch.
    Edit(Value),
    /// The first endpoint is ready, or is not.
    Readiness(bool),
    /// There is a second one with the same content.
    Duplicate {
        name: String,
    },
    /// Finalizers that kept it go.
    Release,
}
