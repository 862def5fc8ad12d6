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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn plans_before_the_end_of_a_retry_after_are_found() {
        let now = Instant::now();
        let closed_until = Some(now + Duration::from_secs(1));
        assert!(check(false, closed_until, now).is_ok() && check(true, None, now).is_ok());
        assert!(check(true, closed_until, now + Duration::from_secs(1)).is_ok());
        let violation = check(true, closed_until, now).err();
        assert_eq!(violation.map(|violation| violation.invariant), Some("F6"));
    }
}
