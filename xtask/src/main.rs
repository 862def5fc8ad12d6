//! The project's commands: `cargo xtask --help`.

mod control_plane;
mod demo;
mod leftovers;
mod steps;
mod targets;
mod test;
mod tidy;
mod vectors;

use std::process::ExitCode;

use clap::Parser;
use slice_runtime::program::usage;

/// The commands of endpointslice-rs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Check and test everything, from a fresh clone with nothing prepared
    Test(test::Args),
    /// Show what is there, live, until Ctrl-C
    Demo(demo::Args),
    /// Replay recorded answers of upstream and compare them with ours
    Vectors(vectors::Args),
    /// Build the real control plane that tests run against, once per user
    ControlPlane(control_plane::Args),
}

fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) => return usage(&error, "cargo xtask"),
    };
    let done = match command {
        Command::Test(args) => test::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::ControlPlane(args) => control_plane::run(&args),
        Command::Vectors(args) => vectors::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
