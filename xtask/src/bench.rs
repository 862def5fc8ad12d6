//! `cargo xtask bench`: compares sync latency with upstream, and measures the controllers as processes.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use devtools::{cargo, quiet_unless_terminal, recorder};

use crate::{
    programs::{Arguments, exec},
    targets,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, clap::Subcommand)]
enum Benchmark {
    /// Time one sync of a Service without I/O, ours and upstream's on the same objects; needs Go
    Library(Library),
    /// Time the start of the EndpointSlice controller by HTTP/2 and by HTTP/1.1, on a real control plane; needs Go
    ColdStart(Arguments),
    /// Compare the memory of both controllers with that of kube-controller-manager, on a real control plane; needs Go
    Memory(Arguments),
    /// Kill the API server of a real control plane for some minutes and measure both controllers; needs Go
    Outage(Arguments),
    /// Respond to every write with 429 and `Retry-After: 1`, on an API server in memory, and count the requests
    Overload(Arguments),
}

/// Measures the controllers as processes; builds them in release mode itself.
const CONTROLLER_BENCH: &str = "controller-bench";

#[derive(Debug, clap::Args)]
struct Library {
    /// Numbers of pods, for example 100,5000 (default: all sizes)
    #[arg(long, value_name = "NUMBERS")]
    n: Option<String>,
    /// Cases, for example nothing,flip (default: all cases)
    #[arg(long, value_name = "NAMES")]
    case: Option<String>,
    /// JSON file to write (default: bench/library.json in Cargo's target directory)
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.benchmark {
        Benchmark::Library(library) => library.run(),
        Benchmark::ColdStart(arguments) => exec(CONTROLLER_BENCH, &arguments.after("cold-start")),
        Benchmark::Memory(arguments) => exec(CONTROLLER_BENCH, &arguments.after("memory")),
        Benchmark::Outage(arguments) => exec(CONTROLLER_BENCH, &arguments.after("outage")),
        Benchmark::Overload(arguments) => exec(CONTROLLER_BENCH, &arguments.after("overload")),
    }
}

impl Library {
    /// Runs `library-bench`, a separate program: it needs an optimised build, and `cargo xtask` is a debug build.
    fn run(&self) -> anyhow::Result<()> {
        let directory = targets::target_directory()?.join("bench");
        let recorder = directory.join("recorder");
        let results = self.output.clone().unwrap_or_else(|| directory.join("library.json"));
        recorder::build(&recorder)?;
        let mut bench = cargo();
        bench.arg("run").args(quiet_unless_terminal());
        bench.args(["--release", "--package", "library-bench"]);
        bench
            .args(["--", "--recorder"])
            .arg(&recorder)
            .arg("--output")
            .arg(&results);
        for (option, value) in [("--n", &self.n), ("--case", &self.case)] {
            bench.args(value.iter().flat_map(|value| [option, value]));
        }
        let status = bench.status().context("cannot start `cargo run`")?;
        if !status.success() {
            bail!("library-bench failed with {status}");
        }
        println!("results written to {}", results.display());
        Ok(())
    }
}
