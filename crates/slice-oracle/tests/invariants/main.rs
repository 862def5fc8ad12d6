//! The judge, judged: histories that break an invariant are rejected for that one, and good ones are accepted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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
