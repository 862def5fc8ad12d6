//! What must hold at rest: I1, I2 and I5.

mod auto;
mod compare;
mod mirrored;
mod services;

use crate::config::Limits;
use crate::history::History;
use crate::state::State;
use crate::violation::Findings;

/// Looks at what is there at the end of a history.
pub(crate) fn check(history: &History, limits: &Limits, findings: &mut Findings) {
    let state = State::final_state(history);
    if let Some(manager) = &limits.services {
        services::check(&state, &manager.managed_by, findings);
    }
    if let Some(manager) = &limits.mirroring {
        mirrored::check(&state, manager, findings);
    }
}
