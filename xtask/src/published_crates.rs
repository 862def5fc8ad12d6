//! Checks of the published crates: no I/O dependencies, a consumer with another API version, complete packages.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};
use devtools::{cargo, quiet_unless_terminal};
use serde_json::Value;

use crate::targets;

/// Crates that do no I/O. A lint in their crate roots also forbids clocks.
const NO_IO_CRATES: [&str; 5] = [
    "mirroring",
    "service-slices",
    "slice-controller",
    "slice-core",
    "slice-reconciler",
];
/// Clients and async runtimes. Names with a suffix after a hyphen count too, such as `tokio-util`.
const IO_CRATES: [&str; 5] = ["async-io", "hyper", "kube", "mio", "tokio"];
/// Example programs in their own workspaces that depend on our crates, with the oldest supported API version: one with a client
/// of its own, and one with the runtime.
const CONSUMER: &str = "crates/slice-reconciler/examples/consumer/Cargo.toml";
const RUNTIME_CONSUMER: &str = "crates/slice-runtime/examples/consumer/Cargo.toml";
/// Packages are built with the newest API version; the tests use an older one.
const PACKAGED_API_VERSION: &str = "1.37";

/// Fails if a crate without I/O, or the consumer, depends on a client or an async runtime.
pub(crate) fn check_no_io_dependencies() -> anyhow::Result<()> {
    let mut errors = Vec::new();
    let crates = NO_IO_CRATES.map(|name| (name, ["--package", name]));
    for (name, selection) in crates.into_iter().chain([("consumer", ["--manifest-path", CONSUMER])]) {
        let dependencies = match dependencies(selection) {
            Ok(dependencies) => dependencies,
            // Report it and check the other crates too.
            Err(error) => {
                errors.push(format!("{name}: {error:#}"));
                continue;
            }
        };
        let found = io_crates(&dependencies);
        if !found.is_empty() {
            errors.push(format!(
                "{name} depends on {}; `cargo tree --invert` shows the path",
                found.join(", ")
            ));
        }
    }
    if !errors.is_empty() {
        bail!("{}", errors.join("\n"));
    }
    Ok(())
}

/// The command that builds and runs the consumer. Its output is discarded here; the tests of slice-reconciler check it.
pub(crate) fn run_consumer() -> anyhow::Result<Command> {
    run_outside_workspace(CONSUMER)
}

/// The command that builds the consumer of the runtime, and prints its usage; the tests of slice-runtime run it.
pub(crate) fn run_runtime_consumer() -> anyhow::Result<Command> {
    let mut command = run_outside_workspace(RUNTIME_CONSUMER)?;
    command.args(["--", "--help"]);
    Ok(command)
}

fn run_outside_workspace(manifest: &str) -> anyhow::Result<Command> {
    let mut command = cargo();
    command
        .arg("run")
        .args(quiet_unless_terminal())
        .args(["--locked", "--manifest-path", manifest, "--target-dir"])
        .arg(targets::target_directory()?.join("consumer"))
        .stdout(Stdio::null());
    Ok(command)
}

/// Packages every published crate and builds the packages. Fails on a warning.
pub(crate) fn package() -> anyhow::Result<()> {
    let metadata = targets::metadata()?;
    let published = published(&metadata);
    // Cargo caches unpacked packages by path and version: a new directory avoids stale ones.
    let directory =
        tempfile::tempdir_in(targets::target_directory()?).context("cannot create a directory for packages")?;
    let output = cargo()
        .args(["package", "--allow-dirty", "--locked", "--target-dir"])
        .arg(directory.path())
        .args(published.iter().flat_map(|name| ["--package", name]))
        .env("K8S_OPENAPI_ENABLED_VERSION", PACKAGED_API_VERSION)
        .output()
        .context("cannot start `cargo package`")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || stderr.lines().any(|line| line.starts_with("warning")) {
        bail!("`cargo package` ended with {} and printed:\n{stderr}", output.status);
    }
    println!("packaged: {}", published.join(", "));
    Ok(())
}

/// Names of the workspace's crates that are published to a registry.
fn published(metadata: &Value) -> Vec<&str> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| package["publish"].is_null())
        .filter_map(|package| package["name"].as_str())
        .collect()
}

/// Names of all transitive dependencies of the selected crate, without dev-dependencies.
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
    let text = String::from_utf8(output.stdout).context("the output of `cargo tree` is not UTF-8")?;
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.map(str::to_owned).collect())
}

/// The clients and async runtimes among the dependencies.
fn io_crates(dependencies: &BTreeSet<String>) -> Vec<&str> {
    let does_io = |name: &str| {
        IO_CRATES.iter().any(|io_crate| {
            name.strip_prefix(io_crate)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    };
    dependencies
        .iter()
        .map(String::as_str)
        .filter(|name| does_io(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn io_crates_are_matched_with_and_without_suffix() {
        let dependencies = ["kube-core", "kubernetes", "serde", "tokio", "tokio-util"];
        let dependencies = dependencies.map(str::to_owned).into();
        assert_eq!(io_crates(&dependencies), ["kube-core", "tokio", "tokio-util"]);
    }

    /// apisim has a network listener, so that it depends on tokio.
    #[test]
    fn transitive_dependencies_are_listed() {
        let names = dependencies(["--package", "apisim"]).unwrap();
        assert!(names.contains("apisim") && names.contains("serde_json"), "{names:?}");
        assert!(io_crates(&names).contains(&"tokio"), "{names:?}");
    }

    #[test]
    fn crates_with_publish_unset_are_published() {
        let metadata = json!({"packages": [
            {"name": "a", "publish": null}, {"name": "b", "publish": []}, {"name": "c", "publish": null},
        ]});
        assert_eq!(published(&metadata), ["a", "c"]);
    }
}
