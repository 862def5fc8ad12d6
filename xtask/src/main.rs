//! `cargo xtask`: the command line of this repository.

mod bench;
mod deny;
mod fuzz;
mod programs;
mod published_crates;
mod steps;
mod targets;
mod test;
mod tidy;
mod words;

use std::process::ExitCode;

use clap::Parser;

use programs::{Arguments, exec};

/// Development commands of endpointslice-rs
#[derive(Debug, Parser)]
// No subcommand `help`: most commands are separate programs that print their own help (`cargo xtask demo --help`).
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Command {
    /// Run all checks and tests, as CI does
    Test(test::Args),
    /// Run both controllers and show live how EndpointSlices change
    Demo(Arguments),
    /// Replay recorded reconciliations of upstream and compare the writes
    Vectors(Arguments),
    /// Fuzz decoders, controllers and planners with arbitrary objects; needs cargo-fuzz
    Fuzz(fuzz::Args),
    /// Check that tests cover every rule and test case of docs/spec
    #[command(visible_alias = "catalogue")]
    SpecCoverage(Arguments),
    /// Run scenarios with upstream's controllers and with ours on real control planes, and compare
    Conformance(Arguments),
    /// Run past failures of upstream with upstream's controllers and with ours, and print which have them
    UpstreamFailures(Arguments),
    /// Run the engine in random schedules with faults, in memory, and check the invariants
    Simulate(Arguments),
    /// Run two replicas of each controller on a real control plane under random damage, and check every slice
    Soak(Arguments),
    /// Compare sync latency with upstream, or measure the controllers in a cold start, an outage or an overload
    Bench(bench::Args),
    /// Install the controllers in a cluster, and wait until they run; or remove them
    Deploy(Arguments),
    /// Build an OCI image per controller without Docker
    Image(Arguments),
    /// Generate docs/reference from the code: flags, metrics, events, RBAC
    Reference(Arguments),
    /// Generate deploy/ from the code: manifests, kustomizations, Helm chart
    Manifests(Arguments),
    /// Build the control-plane binaries for tests (etcd, kube-apiserver, …); cached per user
    ControlPlane(Arguments),
}

fn main() -> ExitCode {
    devtools::run(|command| match command {
        Command::Test(args) => test::run(args),
        Command::Demo(arguments) => exec("demo", arguments),
        Command::Vectors(arguments) => exec("vectors", arguments),
        Command::Fuzz(args) => fuzz::run(args),
        Command::SpecCoverage(arguments) => exec("spec-coverage", arguments),
        Command::Conformance(arguments) => exec("conformance", arguments),
        Command::UpstreamFailures(arguments) => exec("upstream-failures", arguments),
        Command::Simulate(arguments) => exec("simulate", arguments),
        Command::Soak(arguments) => exec("soak", arguments),
        Command::Bench(args) => bench::run(args),
        Command::Deploy(arguments) => exec("deploy", arguments),
        Command::Image(arguments) => exec("image", arguments),
        Command::Reference(arguments) => exec("reference", arguments),
        Command::Manifests(arguments) => exec("manifests", arguments),
        Command::ControlPlane(arguments) => exec("control-plane-assets", arguments),
    })
}
