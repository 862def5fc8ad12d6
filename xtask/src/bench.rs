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
        bench
            .args(["--", "--recorder"])
            .arg(&recorder)
            .arg("--output")
            .arg(&figures);
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
