//! The commands of CONTRIBUTING.md name packages, test targets and xtask commands that exist.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{fs, path::Path, process::Command};

use serde_json::Value;

/// The word after a flag.
fn value<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    let index = words.iter().position(|word| *word == flag)?;
    words.get(index + 1).copied()
}

fn has_target(package: &Value, kind: &str, name: &str) -> bool {
    let targets = package["targets"].as_array().unwrap();
    targets.iter().any(|target| {
        let kinds = target["kind"].as_array().unwrap();
        kinds.iter().any(|found| found == kind) && (name.is_empty() || target["name"] == name)
    })
}

#[test]
fn commands_for_contributors_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    // Every second part between backticks is code.
    let commands: Vec<Vec<&str>> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| {
            code.find("cargo ")
                .map(|start| code[start..].split_whitespace().collect())
        })
        .collect();
    assert!(commands.len() > 10, "{commands:?}");

    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let help = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for command in commands {
        match command[1] {
            "test" => {
                let name = value(&command, "-p").unwrap();
                let package = packages.iter().find(|package| package["name"] == name);
                let package = package.unwrap_or_else(|| panic!("no package {name}: {command:?}"));
                if let Some(target) = value(&command, "--test") {
                    assert!(has_target(package, "test", target), "{command:?}");
                }
                if command.contains(&"--lib") {
                    assert!(has_target(package, "lib", ""), "{command:?}");
                }
            }
            "xtask" => {
                let listed = help
                    .lines()
                    .any(|line| line.split_whitespace().next() == Some(command[2]));
                assert!(listed, "{command:?} is not in:\n{help}");
            }
            "package" => {}
            _ => panic!("{command:?} is not covered by this test"),
        }
    }
}
