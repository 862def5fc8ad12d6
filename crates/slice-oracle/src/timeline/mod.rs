//! Checks of every revision of a history (I3, I4, I6, I7).

mod cache_views;
mod inputs;
mod max_endpoints;
mod no_gap;
mod no_spurious_writes;
mod ownership;
mod readiness_timeline;
mod step;
mod window;

use crate::config::CheckConfig;
use crate::history::{Entry, History};
use crate::violation::Findings;

use self::inputs::Inputs;
use self::step::Replay;

pub(crate) use self::step::writes;

/// Replays a history and checks every slice revision against the state at that time.
pub(crate) fn check(history: &History, config: &CheckConfig, findings: &mut Findings) {
    let mut walk = Replay::new(history, config);
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
            Entry::ManualWrite(_) => continue,
        };
        let step = walk.step(event);
        inputs.apply(&step);
        if let Some(revision) = step.revision() {
            max_endpoints::check(&revision, config, findings);
            published.check(&revision, (&inputs, step.state), config, findings);
            causes.check(&revision, &mut inputs, findings);
            owners.check(&revision, config, findings);
        }
        owners.apply(&step);
    }
    window::check(history, config, findings);
}
