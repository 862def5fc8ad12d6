//! What the documents name exists: packages, test targets and commands of CONTRIBUTING.md; paths and types of all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The parts of a Markdown text between backticks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

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
    let root = root();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let commands: Vec<Vec<&str>> = code_spans(&text)
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
                let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
                let output = xtask.args(&command[2..]).arg("--help").output().unwrap();
                assert!(output.status.success(), "{command:?}: {output:?}");
            }
            "package" => {}
            _ => panic!("{command:?} is not covered by this test"),
        }
    }
}

/// Directories that paths in documents are relative to.
const BASES: [&str; 6] = [
    "",
    "crates",
    "crates/slice-runtime/src",
    "crates/slice-reconciler/src",
    "crates/service-slices/src",
    "crates/conformance/src",
];

fn is_path(code: &str) -> bool {
    let starts = [
        "bins/",
        "crates/",
        "docs/",
        "xtask/",
        "slice-",
        "service-slices/",
        "mirroring/",
        "engine/",
    ];
    let is_plain = code
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || "-_./".contains(character));
    is_plain && code.contains('/') && starts.iter().any(|start| code.starts_with(start))
}

/// The type of `crate_name::module::Type::item`.
fn type_in(code: &str) -> Option<(&str, &str)> {
    let mut segments = code.split("::");
    let package = segments.next()?;
    let is_ours = ["slice_", "service_slices", "mirroring", "testenv"]
        .iter()
        .any(|name| package.starts_with(name));
    let name = segments.find(|segment| segment.starts_with(char::is_uppercase))?;
    is_ours.then_some((package, name))
}

fn declares(directory: &Path, name: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return declares(&path, name);
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        ["struct", "enum", "trait", "type"].iter().any(|keyword| {
            text.match_indices(&format!("{keyword} {name}")).any(|(index, found)| {
                let next = text[index + found.len()..].chars().next();
                next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
            })
        })
    })
}

#[test]
fn paths_and_types_in_documents_exist() {
    let mut documents: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    for directory in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root().join(directory))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        documents.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    let (mut paths, mut types) = (0, 0);
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for code in code_spans(&text) {
            if is_path(code) {
                paths += 1;
                let exists = BASES.iter().any(|base| root().join(base).join(code).exists());
                assert!(exists, "{}: no file {code}", document.display());
            }
            if let Some((package, name)) = type_in(code) {
                types += 1;
                let source = root().join("crates").join(package.replace('_', "-")).join("src");
                assert!(declares(&source, name), "{}: no type {code}", document.display());
            }
        }
    }
    assert!(paths > 40 && types > 15, "{paths} paths, {types} types");
}

/// The messages of log macros in a source text: of each, the last string literal.
fn messages(source: &str) -> Vec<String> {
    let starts = ["tracing::warn!(", "tracing::error!("];
    let calls = starts.iter().flat_map(|start| source.split(start).skip(1));
    let message = |call: &str| {
        let call = call.split(");\n").next().unwrap();
        let literals: Vec<&str> = call.split('"').skip(1).step_by(2).collect();
        let lines = literals
            .last()
            .unwrap()
            .lines()
            .map(|line| line.trim().trim_end_matches('\\'));
        lines.collect::<Vec<_>>().concat()
    };
    calls.map(message).collect()
}

#[test]
fn operators_find_every_warning_and_error_in_the_log() {
    let document = fs::read_to_string(root().join("docs/operate.md")).unwrap();
    let lines: Vec<&str> = code_spans(&document).filter(|code| !code.is_empty()).collect();
    let directory = root().join("crates/slice-runtime/src");
    let sources = devtools::rust_files(&directory).unwrap();
    let sources = sources.iter().filter(|path| !path.to_string_lossy().contains("tests"));
    let found: Vec<String> = sources
        .flat_map(|path| messages(&fs::read_to_string(directory.join(path)).unwrap()))
        .collect();
    assert!(found.len() > 20, "{found:?}");
    for message in &found {
        let described = lines.iter().any(|line| message.starts_with(line));
        assert!(described, "docs/operate.md lacks: {message}");
    }
}
