//! `cargo xtask manifests`: generates the manifests, kustomizations and the Helm chart of `deploy/` from the code.

use std::process::ExitCode;

use clap::Parser;
use devtools::Generated;
use manifests::GENERATED_DIRECTORIES;

/// Generate deploy/ from the code: manifests, kustomizations, Helm chart
#[derive(Debug, Parser)]
#[command(name = "cargo xtask manifests", bin_name = "cargo xtask manifests")]
struct Args {
    /// Write nothing, and fail if a file differs from the code
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let generated = Generated {
        directory: "deploy",
        complete: &GENERATED_DIRECTORIES,
        command: "cargo xtask manifests",
    };
    devtools::run(|args: &Args| generated.update(&manifests::files().into_iter().collect(), args.check))
}
