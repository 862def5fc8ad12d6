//! `cargo xtask simulate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(simulation::run)
}
