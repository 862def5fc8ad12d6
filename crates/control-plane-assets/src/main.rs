//! `cargo xtask control-plane`: builds the real etcd, kube-apiserver and what belongs to them.

use std::process::ExitCode;

use clap::Parser;
use control_plane_assets::{Program, ensure};

/// Build the real control plane that tests run against, once per user
#[derive(Debug, Parser)]
#[command(name = "cargo xtask control-plane", bin_name = "cargo xtask control-plane")]
struct Args {
    /// Print the directory that holds the programs, and nothing else, on standard output
    #[arg(long)]
    print_path: bool,
    /// Also build what only tests need: the fake kubelet
    #[arg(long, hide = true)]
    all: bool,
}

/// What the command builds; the fake kubelet is built when it is first needed.
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
        eprintln!("the control plane is in {}", directory.display());
    }
    Ok(())
}
