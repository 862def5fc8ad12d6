//! `cargo xtask reference`: generates the pages of `docs/reference` from the code.

mod pages;

use std::process::ExitCode;

use clap::Parser;
use devtools::Generated;

/// Generate the reference pages: flags, metrics, events and RBAC
#[derive(Debug, Parser)]
#[command(name = "cargo xtask reference", bin_name = "cargo xtask reference")]
struct Args {
    /// Write nothing, and fail if a page differs from the code
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let generated = Generated {
        directory: "docs/reference",
        complete: &[""],
        command: "cargo xtask reference",
    };
    devtools::run(|args: &Args| generated.update(&pages::all()?, args.check))
}
