//! Scenarios that run on both API servers, and helpers for them.

pub(crate) mod cluster;
mod smoke;

use testenv::{ControllerProcess, TestProcess};

pub(crate) use smoke::smoke;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-controller");

/// Starts the program and waits until preflight has passed.
pub(crate) async fn start(args: &[&str]) -> ControllerProcess {
    ControllerProcess::start(PROGRAM, args).await.unwrap()
}

/// Runs the program, which must exit with 1. Returns the reported errors.
pub(crate) async fn start_fails(args: &[&str]) -> Vec<String> {
    let binary = TestProcess::start(PROGRAM, args, &[]).unwrap();
    let (code, errors) = binary.wait_for_startup_error().await.unwrap();
    assert_eq!(code, Some(1), "{}", binary.output());
    errors
}
