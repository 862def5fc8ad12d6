//! The programs of this workspace that commands run: each is a crate of its own, built by Cargo when it is needed.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    process::Command,
};

use anyhow::{Context as _, bail};

/// Arguments for a program that parses them itself, `--help` included.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Replaces this process by a program: signals reach it, and its exit code is ours.
pub(crate) fn exec(name: &str, arguments: &Arguments) -> anyhow::Result<()> {
    let error = program(name)?.args(&arguments.arguments).exec();
    Err(error).with_context(|| format!("cannot start {name}"))
}

/// Runs a program and waits for its success.
pub(crate) fn run(name: &str, argument: impl AsRef<OsStr>) -> anyhow::Result<()> {
    let status = program(name)?.arg(argument).status();
    let status = status.with_context(|| format!("cannot start {name}"))?;
    if !status.success() {
        bail!("{name} ended with {status}");
    }
    Ok(())
}

fn program(name: &str) -> anyhow::Result<Command> {
    // With the features of the whole workspace, so that all programs share their dependencies.
    let built = devtools::build(&["--workspace", "--bin", name], &[name]);
    let built = built.with_context(|| format!("cannot build {name}"))?;
    Ok(Command::new(&built[0]))
}
