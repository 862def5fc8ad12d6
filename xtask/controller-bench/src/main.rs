//! `cargo xtask bench cold-start`, `memory`, `outage` and `overload`: measures the controllers as processes.

mod cold_start;
mod convergence;
mod measure;
mod memory;
mod objects;
mod outage;
mod overload;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Parser;

/// Measure the controllers as processes
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
enum Command {
    ColdStart(cold_start::Args),
    Memory(memory::Args),
    Outage(outage::Args),
    Overload(overload::Args),
}

/// How the controllers are built.
#[derive(Debug, clap::Args)]
struct Build {
    /// Cargo profile of the controllers
    #[arg(long, default_value = "release")]
    profile: String,
}

impl Build {
    /// Builds programs of this workspace, by package name.
    fn programs(&self, packages: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
        println!("building {} (profile {})", packages.join(" and "), self.profile);
        let mut selection = vec!["--profile", &self.profile];
        selection.extend(packages.iter().flat_map(|package| ["--package", package]));
        devtools::build(&selection, packages).context("cannot build the controllers")
    }
}

fn main() -> ExitCode {
    devtools::run(|command| {
        let runtime = tokio::runtime::Runtime::new().context("cannot start the asynchronous runtime")?;
        runtime.block_on(async {
            match command {
                Command::ColdStart(args) => cold_start::run(args).await,
                Command::Memory(args) => memory::run(args).await,
                Command::Outage(args) => outage::run(args).await,
                Command::Overload(args) => overload::run(args).await,
            }
        })
    })
}
