//! What xtask, the programs that it runs, and tests share: Cargo, Go and Git as processes, and the command line of a program.
//!
//! Few dependencies: a fresh clone builds this before it shows anything.

mod cargo;
mod command;
mod files;
mod leftovers;
pub mod recorder;

pub use cargo::{build, cargo, quiet_unless_terminal};
pub use command::run;
pub use files::{files, read, rust_files};
pub use leftovers::TestRun;
