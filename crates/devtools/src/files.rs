//! Reads files of the repository.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;

/// Lists the Rust files below a directory that Git tracks or does not ignore. Paths are relative to the directory.
pub fn rust_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files(directory, &["*.rs"])
}

/// Lists the files below a directory that match one of the Git patterns and that Git tracks or does not ignore. Paths are
/// relative to the directory.
pub fn files(directory: &Path, patterns: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let listed = Command::new("git")
        .current_dir(directory)
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--"])
        .args(patterns)
        .output()
        .context("cannot start `git ls-files`")?;
    let listed = String::from_utf8(listed.stdout).context("the output of `git ls-files` is not UTF-8")?;
    let files = listed.lines().map(PathBuf::from);
    Ok(files.filter(|path| directory.join(path).exists()).collect())
}

/// Reads a text file. An error contains the path.
pub fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
