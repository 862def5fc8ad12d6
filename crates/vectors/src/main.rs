//! `cargo xtask vectors`.

use std::process::ExitCode;

fn main() -> ExitCode {
    devtools::run(vectors::run)
}
