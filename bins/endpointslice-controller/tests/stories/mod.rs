//! What is played on both API servers, and how.

pub(crate) mod cluster;
mod smoke;

use testenv::{ControllerProcess, TestProcess};

pub(crate) use smoke::smoke;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_endpointslice-controller");

/// Starts the program, and waits until it has found the API server sound.
pub(crate) async fn start(args: &[&str]) -> ControllerProcess {
    ControllerProcess::start(PROGRAM, args).await.unwrap()
}

/// Runs the program to its end, which is a failure; answers its complaints.
pub(crate) async fn fails(args: &[&str]) -> Vec<String> {
    let binary = TestProcess::start(PROGRAM, args, &[]).unwrap();
    let (code, complaints) = binary.wait_for_startup_error().await.unwrap();
    assert_eq!(code, Some(1), "{}", binary.output());
    complaints
}
