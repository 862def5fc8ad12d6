//! Tests of whole plans. The rows of `docs/spec/generic-reconciler.md` §15 that need pods or Endpoints are in those crates.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod consumers;
mod fixtures;
mod groups;
mod harness;
mod metadata;
mod metrics;
mod ownership;
mod packing;
mod rejection;
mod slice_sets;
