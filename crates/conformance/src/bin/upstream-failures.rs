//! `cargo xtask upstream-failures`.

use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(conformance::upstream_failures::run)
}
