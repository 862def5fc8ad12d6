//! What `cargo metadata` reports about the workspace.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use devtools::cargo;
use serde::Deserialize;

/// The workspace.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// The directory of the workspace.
    pub workspace_root: PathBuf,
    /// Cargo's target directory.
    pub target_directory: PathBuf,
    packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in a sentence.
    pub description: String,
    /// An SPDX expression.
    pub license: String,
}

impl Workspace {
    /// Runs `cargo metadata`.
    pub fn read() -> anyhow::Result<Self> {
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .context("cannot start `cargo metadata`")?;
        ensure!(
            output.status.success(),
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        serde_json::from_slice(&output.stdout).context("cannot decode the output of `cargo metadata`")
    }

    /// A package by its name.
    pub fn package(&self, name: &str) -> anyhow::Result<&Package> {
        let mut packages = self.packages.iter();
        packages
            .find(|package| package.name == name)
            .with_context(|| format!("the workspace has no package {name}"))
    }
}
