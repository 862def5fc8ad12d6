//! `cargo xtask soak`.

use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(soak::run)
}
