//! What those who build on our crates count on: few dependencies, any version of the API, and packages that are whole.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use devtools::{cargo, quiet_unless_terminal};
use serde_json::Value;

use crate::targets;

/// These do no I/O. That they read no clock is a lint in their roots.
const PURE: [&str; 5] = [
    "mirroring",
    "service-slices",
    "slice-controller",
    "slice-core",
    "slice-reconciler",
];
/// Clients and runtimes; crates whose names go on after a hyphen belong to them.
const IMPURE: [&str; 5] = ["async-io", "hyper", "kube", "mio", "tokio"];
/// A program in a workspace of its own that uses our crates, with the oldest version of the API.
const CONSUMER: &str = "crates/slice-reconciler/examples/consumer/Cargo.toml";
/// Packages are built with the newest version; our tests choose one in between.
const PACKAGED_API_VERSION: &str = "1.37";

/// Fails when a pure crate, or the program outside, depends on a client or a runtime.
pub(crate) fn stay_pure() -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    let crates = PURE.map(|name| (name, ["--package", name]));
    for (name, selection) in crates.into_iter().chain([("consumer", ["--manifest-path", CONSUMER])]) {
        let dependencies = match dependencies(selection) {
            Ok(dependencies) => dependencies,
            // The others have something to say all the same.
            Err(error) => {
                complaints.push(format!("{name}: {error:#}"));
                continue;
            }
        };
        let found = impure(&dependencies);
        if !found.is_empty() {
            complaints.push(format!(
                "{name} depends on {}; `cargo tree --invert` shows how",
                found.join(", ")
            ));
        }
    }
    if !complaints.is_empty() {
        bail!("{}", complaints.join("\n"));
    }
    Ok(())
}

/// Builds and runs the program outside; what it prints is checked where it is tested.
pub(crate) fn run_consumer() -> anyhow::Result<Command> {
    let mut command = cargo();
    command
        .arg("run")
        .args(quiet_unless_terminal())
        .args(["--locked", "--manifest-path", CONSUMER, "--target-dir"])
        .arg(targets::target_directory()?.join("consumer"))
        .stdout(Stdio::null());
    Ok(command)
}

/// Packages every crate that is published, builds what was packed, and fails at the first warning.
pub(crate) fn package() -> anyhow::Result<()> {
    let metadata = targets::metadata()?;
    let published = published(&metadata);
    // Cargo keeps what it unpacks by the place of the packages and their version: in a place of its own, nothing old is found.
    let place = tempfile::tempdir_in(targets::target_directory()?).context("cannot make a directory for packages")?;
    let output = cargo()
        .args(["package", "--allow-dirty", "--locked", "--target-dir"])
        .arg(place.path())
        .args(published.iter().flat_map(|name| ["--package", name]))
        .env("K8S_OPENAPI_ENABLED_VERSION", PACKAGED_API_VERSION)
        .output()
        .context("cannot start `cargo package`")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.lines().any(|line| line.starts_with("warning")) {
        bail!("`cargo package` ended with {} and said:\n{said}", output.status);
    }
    println!("packaged: {}", published.join(", "));
    Ok(())
}

/// The crates of the workspace that are meant for others.
fn published(metadata: &Value) -> Vec<&str> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| package["publish"].is_null())
        .filter_map(|package| package["name"].as_str())
        .collect()
}

/// The names of all crates that end up in a program that uses the selected one.
fn dependencies(selection: [&str; 2]) -> anyhow::Result<BTreeSet<String>> {
    let output = cargo()
        .args(["tree", "--locked", "--edges", "no-dev"])
        .args(["--prefix", "none", "--format", "{p}"])
        .args(selection)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start `cargo tree`")?;
    if !output.status.success() {
        bail!("`cargo tree {}` ended with {}", selection.join(" "), output.status);
    }
    let text = String::from_utf8(output.stdout).context("`cargo tree` did not answer in UTF-8")?;
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.map(str::to_owned).collect())
}

fn impure(dependencies: &BTreeSet<String>) -> Vec<&str> {
    let is_impure = |name: &str| {
        IMPURE.iter().any(|impure| {
            name.strip_prefix(impure)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    dependencies
        .iter()
        .map(String::as_str)
        .filter(|name| is_impure(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clients_and_runtimes_are_recognised_with_their_families() {
        let dependencies = ["kube-core", "kubernetes", "serde", "tokio", "tokio-util"];
        let dependencies = dependencies.map(str::to_owned).into();
        assert_eq!(impure(&dependencies), ["kube-core", "tokio", "tokio-util"]);
    }

    /// The crate that talks to networks is told from those that do not.
    #[test]
    fn the_dependencies_of_a_crate_are_found() {
        let names = dependencies(["--package", "apisim"]).unwrap();
        assert!(names.contains("apisim") && names.contains("serde_json"), "{names:?}");
        assert!(impure(&names).contains(&"tokio"), "{names:?}");
    }

    #[test]
    fn what_is_published_says_nothing_else() {
        let metadata = json!({"packages": [
            {"name": "a", "publish": null}, {"name": "b", "publish": []}, {"name": "c", "publish": null},
        ]});
        assert_eq!(published(&metadata), ["a", "c"]);
    }
}
