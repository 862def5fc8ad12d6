//! `cargo xtask conformance`.

use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(conformance::run)
}
