//! Cargo as a process, and the programs of this workspace, built before they are run.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

/// Cargo, as a person starts it. What it tells of a package to the programs that it runs is not for a second Cargo: build
/// scripts that read such a variable would run again, and half of the dependencies be rebuilt.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, _) in env::vars_os() {
        let told = name.as_encoded_bytes();
        if told.starts_with(b"CARGO_PKG_") || told.starts_with(b"CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// `--quiet` unless standard error is a terminal: people see Cargo's progress, logs are not filled with it.
#[must_use]
pub fn quiet_unless_terminal() -> Option<&'static str> {
    (!io::stderr().is_terminal()).then_some("--quiet")
}

/// Builds programs of this workspace with `cargo build` and a selection of packages or targets; returns where they are, in the
/// order of their names.
pub fn build(selection: &[&str], programs: &[&str]) -> io::Result<Vec<PathBuf>> {
    let output = cargo()
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(quiet_unless_terminal())
        .args(selection)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "cargo ended with {}, see above",
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
        let missing = || io::Error::other(format!("cargo does not name the executable of {program}"));
        executables.next().map(PathBuf::from).ok_or_else(missing)
    };
    programs.iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_not_told_about_the_package_that_runs() {
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some(), "Cargo runs this test");
        let cargo = cargo();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            assert!(removed.iter().any(|(removed, _)| *removed == name), "{removed:?}");
        }
    }
}
