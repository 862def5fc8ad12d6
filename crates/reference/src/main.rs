//! `cargo xtask reference`: generates the pages of `docs/reference` from the code.

mod pages;

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Parser;
use devtools::read;

const DIRECTORY: &str = "docs/reference";

/// Generate the reference pages: flags, metrics, events and RBAC
#[derive(Debug, Parser)]
#[command(name = "cargo xtask reference", bin_name = "cargo xtask reference")]
struct Args {
    /// Write nothing, and fail if a page differs from the code
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> anyhow::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DIRECTORY);
    let mut outdated = Vec::new();
    for (name, page) in pages::all()? {
        let path = directory.join(name);
        if args.check {
            if read(&path)? != page {
                outdated.push(format!("{DIRECTORY}/{name}"));
            }
        } else {
            fs::create_dir_all(&directory).with_context(|| format!("cannot create {DIRECTORY}"))?;
            fs::write(&path, page).with_context(|| format!("cannot write {DIRECTORY}/{name}"))?;
        }
    }
    if !outdated.is_empty() {
        bail!(
            "{} differ from the code: run `cargo xtask reference`",
            outdated.join(", ")
        );
    }
    Ok(())
}
