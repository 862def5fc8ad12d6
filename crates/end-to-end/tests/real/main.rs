//! Both programs on the real control plane, judged by what became of the slices.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kinds;
mod metrics;
#[path = "../programs/mod.rs"]
mod programs;
mod restart;
mod takeover;
mod world;
