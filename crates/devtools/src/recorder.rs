//! The recorder: the Go program that records and times upstream's reconciliations.

use std::{path::Path, process::Command};

use anyhow::{Context as _, bail};

/// Builds the recorder; `path` is the executable to write.
pub fn build(path: &Path) -> anyhow::Result<()> {
    let status = go()
        // The flags of the control plane's build, so that common packages are compiled once.
        .args(["build", "-trimpath", "-o"])
        .arg(path)
        .arg("./recorder")
        .status()
        .context("cannot start `go`: install the version of Go that xtask/upstream/go.mod names, or a newer one")?;
    if !status.success() {
        bail!("building the recorder failed: `go build` ended with {status}");
    }
    Ok(())
}

/// The command that runs the recorder's own Go tests.
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
        // Ignore Go workspaces and flags of the user's environment.
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false");
    command
}
