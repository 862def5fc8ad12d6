//! `cargo xtask control-plane`: the real etcd, kube-apiserver and what belongs to them.

use testenv::assets::{self, Program};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the directory that holds the programs, and nothing else, on standard output
    #[arg(long)]
    print_path: bool,
}

/// What the command builds; the fake kubelet is built when it is first needed.
const PROGRAMS: [Program; 5] = [
    Program::Etcd,
    Program::KubeApiserver,
    Program::KubeControllerManager,
    Program::KubeScheduler,
    Program::Kubectl,
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let assets = assets::ensure(&PROGRAMS, &mut progress)?;
    let apiserver = assets.path(Program::KubeApiserver);
    let directory = apiserver.parent().unwrap_or(apiserver);
    if args.print_path {
        println!("{}", directory.display());
    } else {
        eprintln!("the control plane is in {}", directory.display());
    }
    Ok(())
}

/// Builds everything that tests use.
pub(crate) fn build_all() -> anyhow::Result<()> {
    assets::ensure(&Program::ALL, &mut progress)?;
    Ok(())
}

fn progress(line: &str) {
    eprintln!("{line}");
}
