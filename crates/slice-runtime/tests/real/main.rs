//! The runtime on a real API server.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod annotated_pods;
mod optional;
#[path = "../reporter/mod.rs"]
mod reporter;
