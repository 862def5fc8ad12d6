//! Runs Cargo as a process, and builds programs of this workspace.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

/// A Cargo command with the environment of a user's shell.
///
/// Cargo sets `CARGO_PKG_*` and `CARGO_MANIFEST_*` for the programs that it runs. They are removed here: build scripts that read
/// such a variable would run again, and half of the dependencies would be rebuilt.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, _) in env::vars_os() {
        let bytes = name.as_encoded_bytes();
        if bytes.starts_with(b"CARGO_PKG_") || bytes.starts_with(b"CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// `--quiet` unless standard error is a terminal: progress bars belong on a terminal, not in logs.
#[must_use]
pub fn quiet_unless_terminal() -> Option<&'static str> {
    (!io::stderr().is_terminal()).then_some("--quiet")
}

/// Builds programs of this workspace: `cargo build` with the selected packages or targets. Returns the paths of the executables
/// in the order of `programs`.
pub fn build(selection: &[&str], programs: &[&str]) -> io::Result<Vec<PathBuf>> {
    build_with(cargo(), selection, programs)
}

/// Builds programs of this workspace with the environment of this Cargo command ([`cargo`]).
pub fn build_with(mut cargo: Command, selection: &[&str], programs: &[&str]) -> io::Result<Vec<PathBuf>> {
    let output = cargo
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(quiet_unless_terminal())
        .args(selection)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "`cargo build` failed with {}, see its output above",
            output.status
        )));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let path = |program: &&str| {
        let artifacts = messages.iter().filter(|message| message["target"]["name"] == **program);
        let mut executables = artifacts.filter_map(|artifact| artifact["executable"].as_str());
        let missing = || io::Error::other(format!("`cargo build` reported no executable of {program}"));
        executables.next().map(PathBuf::from).ok_or_else(missing)
    };
    programs.iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_running_package_are_removed() {
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some(), "run this test by cargo");
        let cargo = cargo();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            assert!(removed.iter().any(|(removed, _)| *removed == name), "{removed:?}");
        }
    }
}
