//! Checks of the quiescent state at the end of a history (I1, I2, I5).

mod auto;
mod compare;
mod mirrored;
mod services;

use crate::config::CheckConfig;
use crate::history::History;
use crate::state::State;
use crate::violation::Findings;

/// Checks the state at the end of a history.
pub(crate) fn check(history: &History, config: &CheckConfig, findings: &mut Findings) {
    let state = State::final_state(history);
    if let Some(manager) = &config.services {
        services::check(&state, &manager.managed_by, findings);
    }
    if let Some(manager) = &config.mirroring {
        mirrored::check(&state, manager, findings);
    }
}
