//! Builds and runs the programs behind the commands. Each is a separate crate, built on first use.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    process::Command,
};

use anyhow::{Context as _, bail};

/// Arguments that are passed on unchanged to a program, including `--help`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Arguments {
    /// These arguments after a command of the program.
    pub(crate) fn after(&self, command: &str) -> Self {
        let command = OsString::from(command);
        Self {
            arguments: [&[command], &*self.arguments].concat(),
        }
    }
}

/// Builds a program and replaces this process by it (exec), so that signals and the exit code need no forwarding.
pub(crate) fn exec(name: &str, arguments: &Arguments) -> anyhow::Result<()> {
    let error = program(name)?.args(&arguments.arguments).exec();
    Err(error).with_context(|| format!("cannot start {name}"))
}

/// Builds and runs a program. Fails if it does not exit with 0.
pub(crate) fn run(name: &str, argument: impl AsRef<OsStr>) -> anyhow::Result<()> {
    let status = program(name)?.arg(argument).status();
    let status = status.with_context(|| format!("cannot start {name}"))?;
    if !status.success() {
        bail!("{name} failed with {status}");
    }
    Ok(())
}

fn program(name: &str) -> anyhow::Result<Command> {
    // `--workspace` unifies features, so that all programs share compiled dependencies.
    let built = devtools::build(&["--workspace", "--bin", name], &[name]);
    let built = built.with_context(|| format!("cannot build {name}"))?;
    Ok(Command::new(&built[0]))
}
