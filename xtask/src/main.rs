//! The commands of this repository: `cargo xtask --help`.

mod bench;
mod deny;
mod fuzz;
mod libraries;
mod programs;
mod steps;
mod targets;
mod test;
mod tidy;
mod words;

use std::process::ExitCode;

use clap::Parser;

use programs::{Arguments, exec};

/// The commands of endpointslice-rs.
#[derive(Debug, Parser)]
// No subcommand `help`: what a program accepts is printed by the program, `cargo xtask demo --help`.
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Command {
    /// Check and test everything, from a fresh clone with nothing prepared
    Test(test::Args),
    /// Show both controllers at work, live, until Ctrl-C
    Demo(Arguments),
    /// Replay recorded answers of upstream and compare them with ours
    Vectors(Arguments),
    /// Feed arbitrary objects to everything that reads them; needs cargo-fuzz
    Fuzz(fuzz::Args),
    /// List the test cases of the specifications that no test shows
    Catalogue(Arguments),
    /// Play the same scenarios with upstream's controllers and with ours, and compare
    Conformance(Arguments),
    /// Measure how fast we are beside upstream
    Bench(bench::Args),
    /// Generate docs/reference from the code: flags, metrics, events, RBAC
    Reference(Arguments),
    /// Build the real control plane that tests run against, once per user
    ControlPlane(Arguments),
}

fn main() -> ExitCode {
    devtools::run(|command| match command {
        Command::Test(args) => test::run(args),
        Command::Demo(arguments) => exec("demo", arguments),
        Command::Vectors(arguments) => exec("vectors", arguments),
        Command::Fuzz(args) => fuzz::run(args),
        Command::Catalogue(arguments) => exec("spec-coverage", arguments),
        Command::Conformance(arguments) => exec("conformance", arguments),
        Command::Bench(args) => bench::run(args),
        Command::Reference(arguments) => exec("reference", arguments),
        Command::ControlPlane(arguments) => exec("control-plane-assets", arguments),
    })
}
