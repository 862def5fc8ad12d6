//! The project's commands: `cargo xtask --help`.

mod bench;
mod catalogue;
mod conformance;
mod control_plane;
mod demo;
mod fuzz;
mod leftovers;
mod libraries;
mod sources;
mod steps;
mod targets;
mod test;
mod tidy;
mod upstream;
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
    /// Show both controllers at work, live, until Ctrl-C
    Demo(demo::Args),
    /// Replay recorded answers of upstream and compare them with ours
    Vectors(vectors::Args),
    /// Feed arbitrary objects to everything that reads them; needs cargo-fuzz
    Fuzz(fuzz::Args),
    /// List the test cases of the specifications that no test shows
    Catalogue(catalogue::Args),
    /// Play the same scenarios with upstream's controllers and with ours, and compare
    Conformance(conformance::Args),
    /// Measure how fast we are beside upstream
    Bench(bench::Args),
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
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Vectors(args) => vectors::run(&args),
        Command::Catalogue(args) => catalogue::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
