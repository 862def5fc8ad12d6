//! The work queue is bounded and loses no key (I12).

use slice_controller::Key;

use super::{Violation, ensure};
use crate::{
    inputs::{ENDPOINTS, SERVICES},
    object::NAMESPACES,
};

/// All names that are a key: of Services and Endpoints objects, and the label values of other clients in each namespace.
const KEYS: usize = SERVICES.len() + ENDPOINTS.len() + 2 * NAMESPACES.len();

pub(crate) fn check_length(length: usize) -> Result<(), Violation> {
    ensure(length <= KEYS, "I12", || {
        format!("{length} keys are queued, {KEYS} at most exist")
    })
}

/// A key whose writes failed is queued again.
pub(crate) fn check_requeued(key: &Key, failed: bool, is_queued: bool) -> Result<(), Violation> {
    ensure(!failed || is_queued, "I12", || {
        format!("{key} failed, and is not queued")
    })
}

/// The queue is empty when nothing is left to do.
pub(crate) fn check_empty(length: usize) -> Result<(), Violation> {
    ensure(length == 0, "I12", || {
        format!("{length} keys are queued without a deadline")
    })
}
