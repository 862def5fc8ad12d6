//! Our two controllers, built as a person would.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use crate::targets;

/// The programs, which are called as upstream's controllers are.
pub(crate) const CONTROLLERS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// Builds them; answers where they are.
pub(crate) fn build() -> anyhow::Result<[PathBuf; 2]> {
    let packages = CONTROLLERS.iter().flat_map(|name| ["-p", name]);
    let built = targets::cargo().args(["build", "--quiet"]).args(packages).status();
    ensure!(
        built.context("start `cargo build`")?.success(),
        "our controllers do not build"
    );
    let directory = targets::target_directory()?.join("debug");
    Ok(CONTROLLERS.map(|name| directory.join(name)))
}
