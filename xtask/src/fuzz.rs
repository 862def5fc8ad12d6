//! `cargo xtask fuzz`: arbitrary objects for everything that reads them.

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
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    has_cargo_fuzz()?;
    let home = targets::target_directory()?.join("fuzz");
    let corpus = home.join("corpus");
    programs::run("fuzz-seeds", &corpus).context("cannot write the seeds")?;
    let status = cargo()
        // Panics are found without a sanitizer, which would take a nightly toolchain and most of the speed; `unsafe` is
        // forbidden here.
        .args(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir", FUZZ_DIRECTORY])
        .arg("--target-dir")
        .arg(&home)
        .arg("decoders")
        .arg(&corpus)
        .arg("--")
        .arg(format!("-max_total_time={}", args.seconds))
        .status()
        .context("cannot start `cargo fuzz`")?;
    if !status.success() {
        bail!("the fuzzer ended with {status}; what it says above is how to see it again");
    }
    Ok(())
}

/// Checks that the target compiles; for that, no fuzzer has to be there.
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

fn has_cargo_fuzz() -> anyhow::Result<()> {
    let status = cargo()
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        bail!("`cargo fuzz` is not there: install it by `cargo install cargo-fuzz`; it also needs a C++ compiler");
    }
    Ok(())
}
