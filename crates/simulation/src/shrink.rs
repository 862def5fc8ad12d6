//! Shrinks a failing schedule.

use std::time::Instant;

use crate::{
    checks::Violation,
    schedule::{Schedule, Step},
};

/// Removes steps for as long as the schedule violates the same invariant. Returns the short schedule and its violation.
pub(crate) fn shrink(
    schedule: &Schedule,
    violation: Violation,
    start: Instant,
    play: impl Fn(&Schedule, Instant) -> Option<Violation>,
) -> (Schedule, Violation) {
    let mut schedule = schedule.clone();
    let mut violation = violation;
    let mut fails = |steps: Vec<Step>, schedule: &mut Schedule| {
        let shorter = Schedule {
            setup: schedule.setup,
            steps,
        };
        match play(&shorter, start).filter(|found| found.invariant == violation.invariant) {
            Some(found) => {
                *schedule = shorter;
                violation = found;
                true
            }
            None => false,
        }
    };
    let mut size = schedule.steps.len().div_ceil(2);
    while size > 0 {
        let mut removed = false;
        let mut from = 0;
        while from < schedule.steps.len() {
            let mut steps = schedule.steps.clone();
            steps.drain(from..(from + size).min(steps.len()));
            if fails(steps, &mut schedule) {
                removed = true;
            } else {
                from += size;
            }
        }
        if size > 1 {
            size = size.div_ceil(2);
        } else if !removed {
            size = 0;
        }
    }
    (schedule, violation)
}
