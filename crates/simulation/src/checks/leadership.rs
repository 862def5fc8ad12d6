//! At most one replica leads, and only the leader writes, before its renew deadline (I8).

use std::time::{Duration, Instant};

use super::{Violation, ensure};

/// The renew deadline of the candidates.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);

/// A lease that a replica holds, as the server has seen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// When the last request that renewed it was sent, in the time of the play.
    pub(crate) renewed_at: Instant,
    /// How often leases had gone back when it was acquired.
    pub(crate) lease_epoch: u32,
    /// The position after the last change of each stream's resource when the lease was acquired.
    pub(crate) positions: Vec<usize>,
}

impl Held {
    fn deadline(&self) -> Instant {
        self.renewed_at + RENEW_DEADLINE
    }
}

/// Checks a write when it is sent. `held` is that of a leader; `planned` and `sent` are the terms in which it was planned and sent.
pub(crate) fn check_write(
    held: Option<&Held>,
    (planned, sent): (Option<u64>, Option<u64>),
    now: Instant,
) -> Result<(), Violation> {
    let Some(held) = held else {
        return Err(Violation::new("I8", "a standby sent a write"));
    };
    ensure(now < held.deadline(), "I8", || {
        let late = now.saturating_duration_since(held.deadline());
        format!("a write was sent {late:?} after the renew deadline")
    })?;
    ensure(planned == sent, "I8", || {
        format!("a write that was planned in term {planned:?} was sent in term {sent:?}")
    })
}

/// Checks that a plan is made from no older state than that of when the lease was acquired. `delivered` are the positions of
/// the streams.
pub(crate) fn check_plan(held: Option<&Held>, delivered: &[usize]) -> Result<(), Violation> {
    let Some(held) = held else {
        return Err(Violation::new("I8", "a standby planned a write"));
    };
    let mut positions = held.positions.iter().zip(delivered);
    ensure(
        positions.all(|(acquired, delivered)| delivered >= acquired),
        "I11",
        || {
            let acquired = &held.positions;
            format!("a write was planned from {delivered:?} events, although the lease was acquired after {acquired:?}")
        },
    )
}

/// Checks the leaders among the replicas of a controller. A lease that has gone back may be that of another replica, so that a term
/// from before is not compared.
pub(crate) fn check_leaders<'a>(
    leaders: impl Iterator<Item = &'a Held>,
    lease_epoch: u32,
    now: Instant,
) -> Result<(), Violation> {
    let leading = leaders.filter(|held| now < held.deadline() && held.lease_epoch == lease_epoch);
    let leading = leading.count();
    ensure(leading <= 1, "I8", || format!("{leading} replicas lead"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(start: Instant) -> Held {
        Held {
            renewed_at: start,
            lease_epoch: 0,
            positions: vec![2, 3],
        }
    }

    #[test]
    fn writes_without_a_term_or_after_its_deadline_are_found() {
        let start = Instant::now();
        let held = held(start);
        let at = |seconds| start + Duration::from_secs(seconds);
        let term = (Some(1), Some(1));
        assert!(check_write(Some(&held), term, at(9)).is_ok());
        assert!(check_write(None, term, at(9)).is_err());
        assert!(check_write(Some(&held), term, at(10)).is_err());
        assert!(check_write(Some(&held), (Some(1), Some(2)), at(9)).is_err());
    }

    #[test]
    fn plans_from_before_the_term_are_found() {
        let held = held(Instant::now());
        assert!(check_plan(Some(&held), &[2, 4]).is_ok());
        assert!(check_plan(Some(&held), &[2, 2]).is_err());
        assert!(check_plan(None, &[2, 4]).is_err());
    }

    #[test]
    fn two_leaders_are_found() {
        let start = Instant::now();
        let (first, second) = (held(start), held(start + Duration::from_secs(5)));
        let leaders = || [&first, &second].into_iter();
        assert!(check_leaders(leaders(), 0, start + Duration::from_secs(6)).is_err());
        assert!(check_leaders(leaders(), 0, start + RENEW_DEADLINE).is_ok());
        assert!(
            check_leaders(leaders(), 1, start + Duration::from_secs(6)).is_ok(),
            "before the lease has gone back"
        );
    }
}
