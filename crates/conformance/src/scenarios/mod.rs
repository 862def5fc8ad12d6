//! All scenarios.

mod end_to_end;
mod hints;
mod integration;
mod mirroring;
mod pods;
mod repair;
mod services;
mod traffic;

use super::scenario::Scenario;

pub(super) fn all() -> Vec<Scenario> {
    [
        pods::all(),
        services::all(),
        hints::all(),
        repair::all(),
        mirroring::all(),
        integration::all(),
        end_to_end::all(),
        traffic::all(),
    ]
    .concat()
}
