//! The runtime on a real API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod annotated_pods;
mod optional;
#[path = "../reporter/mod.rs"]
mod reporter;
