//! Shared by xtask, the programs that it runs, and tests: Cargo, Go and Git as processes, a command-line entry point, generated
//! files, commands that load images, and a leak check for tests.
//!
//! Few dependencies: a fresh clone builds this crate before any command runs.

mod cargo;
mod command;
mod files;
mod generated;
mod load_commands;
pub mod recorder;
mod test_sandbox;

pub use cargo::{build, build_with, cargo, quiet_unless_terminal};
pub use command::{error_line, run};
pub use files::{files, read, rust_files};
pub use generated::Generated;
pub use load_commands::{ARCHIVE, LOAD_COMMANDS};
pub use test_sandbox::TestSandbox;
