//! The runtime on a real API server.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod multus;
mod optional;
#[path = "../reporter/mod.rs"]
mod reporter;
#[path = "../multus/mod.rs"]
mod scenario;
