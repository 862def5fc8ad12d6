//! Tests of the oracle: a history that violates an invariant is reported for that invariant, and a valid one is not.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod fixtures;
mod harness;
mod max_endpoints;
mod mirrored;
mod no_gap;
mod no_spurious_writes;
mod ownership;
mod placeholder;
mod recorder;
mod report;
mod services;
