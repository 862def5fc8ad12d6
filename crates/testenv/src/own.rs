//! The programs of this workspace, built before they are run.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::Deserialize;

use crate::error::Error;

/// The programs that replace two controllers of kube-controller-manager, and are called as those are.
pub const CONTROLLERS: [&str; 2] = ["endpointslice-controller", "endpointslice-mirroring-controller"];

/// What cargo says of something that it has built.
#[derive(Deserialize)]
struct Artifact {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Cargo, as a person starts it. What it tells of a package to the programs that it runs is not for a second Cargo: build
/// scripts that read such a variable would run anew, and half of the dependencies be built anew.
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

/// Has cargo build programs of this workspace, by the names of their packages; answers where they are, in the same order.
///
/// A test knows the programs of its own package only, and cargo builds no others for it.
pub fn build(packages: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let action = || format!("build {}", packages.join(" and "));
    let output = cargo()
        .args(["build", "--quiet", "--message-format=json-render-diagnostics"])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::system("start cargo"))?;
    if !output.status.success() {
        let source = std::io::Error::other(format!("cargo ended with {}, see above", output.status));
        return Err(Error::System {
            action: action(),
            source,
        });
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let built: Vec<Artifact> = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let place = |package: &&str| {
        let is_it = |built: &&Artifact| built.target.as_ref().is_some_and(|target| target.name == **package);
        let place = built.iter().filter(is_it).find_map(|built| built.executable.clone());
        place.ok_or_else(|| Error::System {
            action: action(),
            source: std::io::Error::other(format!("cargo does not say where {package} is")),
        })
    };
    packages.iter().map(place).collect()
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

    #[test]
    fn what_cannot_be_built_is_named() {
        let error = build(&["nonsense"]).unwrap_err().to_string();
        assert_eq!(error, "cannot build nonsense");
    }
}
