//! Scenarios that run on both API servers, and helpers for them.

pub(crate) mod cluster;
mod smoke;

use testenv::ControllerProcess;

pub(crate) use smoke::smoke;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-controller");

/// Starts the program and waits until it serves HTTP.
pub(crate) async fn start(args: &[&str]) -> ControllerProcess {
    ControllerProcess::start(PROGRAM, args).await.unwrap()
}
