//! What must hold of a whole history: I3, I4, I6 and I7.

mod excuses;
mod i3;
mod i4;
mod i6;
mod i7;
mod inputs;
mod step;
mod views;
mod window;

use super::limits::Limits;
use super::record::{Entry, History};
use super::violation::Findings;

use self::inputs::Inputs;
use self::step::Walk;

pub(crate) use self::step::writes;

/// Looks at every revision, knowing everything that was there at that time.
pub(crate) fn check(history: &History, limits: &Limits, findings: &mut Findings) {
    let mut walk = Walk::new(history, limits);
    let mut inputs = Inputs::default();
    let mut i4 = i4::Published::default();
    let mut i6 = i6::Causes::default();
    let mut i7 = i7::Owners::default();
    for entry in history.entries() {
        let event = match entry {
            Entry::Event(event) => event,
            Entry::Mark(mark) => {
                i4.fence(mark.revision);
                i6.fence(mark.revision);
                continue;
            }
            Entry::ByHand(_) => continue,
        };
        let step = walk.step(event);
        inputs.follow(&step);
        if let Some(revision) = step.revision() {
            i3::check(&revision, limits, findings);
            i4.check(&revision, (&inputs, step.state), limits, findings);
            i6.check(&revision, &mut inputs, findings);
            i7.check(&revision, limits, findings);
        }
        i7.follow(&step);
    }
    window::check(history, limits, findings);
}
