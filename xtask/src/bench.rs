//! `cargo xtask bench`: how fast we are beside upstream.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use devtools::{cargo, quiet_unless_terminal, recorder};

use crate::targets;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// One sync of a Service, without any I/O, ours and upstream's on the same objects; needs Go
    Library(Library),
}

#[derive(Debug, clap::Args)]
struct Library {
    /// Only these numbers of pods, such as 100,5000
    #[arg(long, value_name = "NUMBERS")]
    n: Option<String>,
    /// Only these cases, such as nothing,flip
    #[arg(long, value_name = "NAMES")]
    case: Option<String>,
    /// Our side with the C library's allocator instead of mimalloc
    #[arg(long)]
    system_allocator: bool,
    /// Only one thread on our side, however many pods there are: by default, two read and write many objects of the API
    #[arg(long)]
    one_thread: bool,
    /// Where the figures go instead of bench/library.json in Cargo's target directory
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Library(library) => library.run(),
    }
}

impl Library {
    /// Our side is timed by a program of its own, because it has to be optimised and `cargo xtask` is not.
    fn run(&self) -> anyhow::Result<()> {
        let home = targets::target_directory()?.join("bench");
        let recorder = home.join("recorder");
        let figures = self.output.clone().unwrap_or_else(|| home.join("library.json"));
        recorder::build(&recorder)?;
        let mut bench = cargo();
        bench.arg("run").args(quiet_unless_terminal());
        bench.args(["--release", "--package", "library-bench"]);
        if self.system_allocator {
            bench.arg("--no-default-features");
        }
        bench
            .args(["--", "--recorder"])
            .arg(&recorder)
            .arg("--output")
            .arg(&figures);
        bench.args(self.one_thread.then_some("--one-thread"));
        // What one sync frees is kept for the next, as Go keeps it, and not given back to the system in between.
        bench.env("MIMALLOC_PURGE_DELAY", "-1");
        for (option, value) in [("--n", &self.n), ("--case", &self.case)] {
            bench.args(value.iter().flat_map(|value| [option, value]));
        }
        let status = bench.status().context("cannot start `cargo run`")?;
        if !status.success() {
            bail!("the benchmark ended with {status}");
        }
        println!("the figures are in {}", figures.display());
        Ok(())
    }
}
