//! A `Retry-After` of an overloaded API server is honoured by all keys (F6).

use std::time::Instant;

use super::{Violation, ensure};

/// Checks that no write is planned before the time until which the server asked to wait.
pub(crate) fn check(has_plans: bool, closed_until: Option<Instant>, now: Instant) -> Result<(), Violation> {
    let remaining = closed_until.map_or_else(Default::default, |until| until.saturating_duration_since(now));
    ensure(!has_plans || remaining.is_zero(), "F6", || {
        format!("a write was planned {remaining:?} before the end of the Retry-After of the server")
    })
}
