//! The Go program that records what upstream does and how long it takes.

use std::{path::Path, process::Command};

use anyhow::{Context as _, bail};

/// Builds the program at a path.
pub fn build(path: &Path) -> anyhow::Result<()> {
    let status = go()
        // As the control plane is built, so that what it has in common is compiled once.
        .args(["build", "-trimpath", "-o"])
        .arg(path)
        .arg("./recorder")
        .status()
        .context("cannot start `go`: install the version of Go that xtask/upstream/go.mod names, or a newer one")?;
    if !status.success() {
        bail!("building the recorder: `go build` ended with {status}");
    }
    Ok(())
}

/// The tests of the program itself.
#[must_use]
pub fn test() -> Command {
    let mut command = go();
    command.args(["test", "-trimpath", "./recorder"]);
    command
}

fn go() -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/upstream"))
        // The module decides, not a workspace or flags of another project.
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false");
    command
}
