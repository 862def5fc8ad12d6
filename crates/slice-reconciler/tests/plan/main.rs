//! Whole plans: what is written for given endpoints and slices, whoever owns them. The rows of
//! `docs/spec/generic-reconciler.md` §15 that need pods or Endpoints are with those crates.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod consumers;
mod groups;
mod metadata;
mod metrics;
mod ownership;
mod packing;
mod sets;
mod support;
