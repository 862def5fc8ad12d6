//! `cargo xtask fuzz`: runs the fuzz target with arbitrary objects as input.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use devtools::{cargo, quiet_unless_terminal};

use crate::{programs, targets};

const FUZZ_DIRECTORY: &str = "crates/fuzzing/fuzz";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Duration of the run in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    require_cargo_fuzz()?;
    let directory = targets::target_directory()?.join("fuzz");
    let corpus = directory.join("corpus");
    programs::run("fuzz-seeds", &corpus).context("cannot write the seed corpus")?;
    let status = cargo()
        // No sanitizer: it needs a nightly toolchain and is slow. The target looks for panics, and `unsafe` is forbidden.
        .args(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir", FUZZ_DIRECTORY])
        .arg("--target-dir")
        .arg(&directory)
        .arg("decoders")
        .arg(&corpus)
        .arg("--")
        .arg(format!("-max_total_time={}", args.seconds))
        .status()
        .context("cannot start `cargo fuzz`")?;
    if !status.success() {
        bail!("the fuzzer failed with {status}; its output above shows how to reproduce the failure");
    }
    Ok(())
}

/// The command that checks that the fuzz target compiles. Does not need cargo-fuzz.
pub(crate) fn check_target() -> anyhow::Result<Command> {
    let mut command = cargo();
    command
        .arg("check")
        .args(quiet_unless_terminal())
        .args(["--locked", "--no-default-features", "--manifest-path"])
        .arg(Path::new(FUZZ_DIRECTORY).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(targets::target_directory()?.join("fuzz"));
    Ok(command)
}

fn require_cargo_fuzz() -> anyhow::Result<()> {
    let status = cargo()
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        bail!("cargo-fuzz is not installed: run `cargo install cargo-fuzz`; it also needs a C++ compiler");
    }
    Ok(())
}
