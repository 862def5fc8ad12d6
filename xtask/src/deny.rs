//! Licences, bans and sources of all dependencies, checked by cargo-deny (`deny.toml`). Advisories need the network: the hosted
//! workflow checks them.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use devtools::{cargo, quiet_unless_terminal};

use crate::targets;

/// Pinned, so that a new release does not change what is accepted.
const VERSION: &str = "0.20.2";

/// Installs cargo-deny once, in Cargo's target directory, and runs it.
pub(crate) fn run() -> anyhow::Result<()> {
    let program = installed()?;
    let status = std::process::Command::new(&program)
        .args(["check", "licenses", "bans", "sources"])
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(
        status.success(),
        "cargo-deny exited with {status}: change the dependency or deny.toml"
    );
    Ok(())
}

fn installed() -> anyhow::Result<PathBuf> {
    let root = targets::target_directory()?
        .join("tools")
        .join(format!("cargo-deny-{VERSION}"));
    let program = root.join("bin/cargo-deny");
    if program.is_file() {
        return Ok(program);
    }
    println!(
        "installing cargo-deny {VERSION} in {}, this takes minutes …",
        root.display()
    );
    let status = cargo()
        // Unoptimised: it runs for a second, and compiles in half of the time.
        .args([
            "install",
            "cargo-deny",
            "--locked",
            "--debug",
            "--version",
            VERSION,
            "--root",
        ])
        .arg(&root)
        .args(quiet_unless_terminal())
        .status()
        .context("cannot start `cargo install`")?;
    ensure!(
        status.success(),
        "`cargo install cargo-deny` exited with {status}: see its messages above"
    );
    Ok(program)
}
