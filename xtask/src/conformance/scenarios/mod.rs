//! All scenarios.

mod hints;
mod mirroring;
mod pods;
mod repair;
mod services;

use super::scenario::Scenario;

pub(super) fn all() -> Vec<Scenario> {
    [
        pods::all(),
        services::all(),
        hints::all(),
        repair::all(),
        mirroring::all(),
    ]
    .concat()
}
