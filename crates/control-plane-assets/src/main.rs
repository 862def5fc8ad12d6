//! `cargo xtask control-plane`: builds etcd, kube-apiserver and the other control-plane programs.

use std::process::ExitCode;

use clap::Parser;
use control_plane_assets::{Program, ensure};

/// Build the control-plane binaries for tests (etcd, kube-apiserver, …); cached per user
#[derive(Debug, Parser)]
#[command(name = "cargo xtask control-plane", bin_name = "cargo xtask control-plane")]
struct Args {
    /// Print only the directory of the binaries to standard output
    #[arg(long)]
    print_path: bool,
    /// Also build the programs that only tests need
    #[arg(long, hide = true)]
    all: bool,
}

/// Built by default. The others are built by the first test that needs them.
const PROGRAMS: [Program; 5] = [
    Program::Etcd,
    Program::KubeApiserver,
    Program::KubeControllerManager,
    Program::KubeScheduler,
    Program::Kubectl,
];

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> anyhow::Result<()> {
    let programs: &[Program] = if args.all { &Program::ALL } else { &PROGRAMS };
    let assets = ensure(programs, &mut |line| eprintln!("{line}"))?;
    let apiserver = assets.path(Program::KubeApiserver);
    let directory = apiserver.parent().unwrap_or(apiserver);
    if args.print_path {
        println!("{}", directory.display());
    } else {
        eprintln!("control-plane binaries: {}", directory.display());
    }
    Ok(())
}
