//! What must hold of a whole history: I3, I4, I6 and I7.

mod cache_views;
mod inputs;
mod max_endpoints;
mod no_gap;
mod no_spurious_writes;
mod ownership;
mod readiness_timeline;
mod step;
mod window;

use crate::config::Limits;
use crate::history::{Entry, History};
use crate::violation::Findings;

use self::inputs::Inputs;
use self::step::Replay;

pub(crate) use self::step::writes;

/// Looks at every revision, knowing everything that was there at that time.
pub(crate) fn check(history: &History, limits: &Limits, findings: &mut Findings) {
    let mut walk = Replay::new(history, limits);
    let mut inputs = Inputs::default();
    let mut published = no_gap::Published::default();
    let mut causes = no_spurious_writes::Causes::default();
    let mut owners = ownership::Owners::default();
    for entry in history.entries() {
        let event = match entry {
            Entry::Event(event) => event,
            Entry::Mark(mark) => {
                published.fence(mark.revision);
                causes.fence(mark.revision);
                continue;
            }
            Entry::ByHand(_) => continue,
        };
        let step = walk.step(event);
        inputs.apply(&step);
        if let Some(revision) = step.revision() {
            max_endpoints::check(&revision, limits, findings);
            published.check(&revision, (&inputs, step.state), limits, findings);
            causes.check(&revision, &mut inputs, findings);
            owners.check(&revision, limits, findings);
        }
        owners.apply(&step);
    }
    window::check(history, limits, findings);
}
