//! The Rust files of the repository.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;

/// Every Rust file below a directory that is tracked by Git or not ignored, relative to the directory.
pub fn rust_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files(directory, &["*.rs"])
}

/// Every file that matches one of the Git patterns, below a directory, and is tracked by Git or not ignored; relative to the
/// directory.
pub fn files(directory: &Path, patterns: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let listed = Command::new("git")
        .current_dir(directory)
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--"])
        .args(patterns)
        .output()
        .context("cannot start `git ls-files`")?;
    let listed = String::from_utf8(listed.stdout).context("`git ls-files` printed a path that is not UTF-8")?;
    let files = listed.lines().map(PathBuf::from);
    Ok(files.filter(|path| directory.join(path).exists()).collect())
}

/// Reads a text file; the error names it.
pub fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
