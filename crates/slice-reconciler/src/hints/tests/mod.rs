//! Tests of hint assignment by rows of the catalogue.

mod beyond_upstream;
pub(super) mod fixtures;
mod mode_changes;
mod traffic_distribution;
