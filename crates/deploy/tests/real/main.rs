//! `cargo xtask deploy` on a real control plane with a scheduler and fake nodes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do, by a panic")]

mod built_in;
mod delete;
mod errors;
mod harness;
mod install;
mod rights;
mod rollout;
