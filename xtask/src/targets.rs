//! Queries `cargo metadata`: the target directory, and the test targets that need the real control plane.

use std::path::PathBuf;

use anyhow::Context as _;
use devtools::cargo;
use serde_json::Value;

/// Names of the test targets that need programs which Go builds: the real control plane, or crane.
const NEED_CONTROL_PLANE: [&str; 3] = ["control_plane", "crane", "real"];

/// Names of the integration-test targets of the workspace, sorted and unique.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestTargets {
    pub(crate) without_control_plane: Vec<String>,
    pub(crate) with_control_plane: Vec<String>,
}

/// Lists the test targets of the workspace.
pub(crate) fn test_targets() -> anyhow::Result<TestTargets> {
    classify(&metadata()?)
}

/// Cargo's target directory.
pub(crate) fn target_directory() -> anyhow::Result<PathBuf> {
    let metadata = metadata()?;
    let directory = metadata["target_directory"].as_str();
    directory
        .map(PathBuf::from)
        .context("`cargo metadata` reports no target directory")
}

/// Runs `cargo metadata` for the workspace.
pub(crate) fn metadata() -> anyhow::Result<Value> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("cannot start `cargo metadata`")?;
    serde_json::from_slice(&output.stdout).context("the output of `cargo metadata` is not JSON")
}

fn classify(metadata: &Value) -> anyhow::Result<TestTargets> {
    let packages = metadata["packages"]
        .as_array()
        .context("`cargo metadata` lists no packages")?;
    let mut names: Vec<&str> = packages
        .iter()
        .filter_map(|package| package["targets"].as_array())
        .flatten()
        .filter(|target| target["kind"][0] == "test")
        .filter_map(|target| target["name"].as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let (with_control_plane, without_control_plane) = names
        .into_iter()
        .map(str::to_owned)
        .partition(|name| NEED_CONTROL_PLANE.contains(&name.as_str()));
    Ok(TestTargets {
        without_control_plane,
        with_control_plane,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn targets_are_classified_by_name() {
        let target = |kind: &str, name: &str| json!({"kind": [kind], "name": name});
        let metadata = json!({"packages": [
            {"targets": [target("lib", "a"), target("test", "sim"), target("test", "real")]},
            {"targets": [target("bin", "real"), target("test", "real"), target("test", "control_plane")]},
        ]});
        assert_eq!(
            classify(&metadata).unwrap(),
            TestTargets {
                without_control_plane: vec!["sim".into()],
                with_control_plane: vec!["control_plane".into(), "real".into()],
            }
        );
    }
}
