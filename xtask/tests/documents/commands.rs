//! Every command in a document exists, with its arguments, targets, tests and variables.
//!
//! Those that take seconds are run: here, or by the tests of the programs behind them. The others are steps of `cargo xtask test`.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::markdown::{Document, documents, root};

/// A Cargo command in a document.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Documented {
    /// Environment variables before the command.
    variables: Vec<String>,
    /// The arguments after `cargo`, without quotes and brackets of optional ones.
    words: Vec<String>,
}

impl Documented {
    fn parse(code: &str) -> Option<Self> {
        let words = code.split('#').next()?.split_whitespace().map(|word| {
            let word = word.trim_matches(|character| "'[]…".contains(character));
            word.to_owned()
        });
        let (variables, mut words): (Vec<String>, Vec<String>) = {
            let words: Vec<String> = words.collect();
            let command = words.iter().position(|word| word == "cargo")?;
            (words[..command].to_vec(), words[command..].to_vec())
        };
        words.remove(0);
        assert!(!words.is_empty(), "{code}");
        let variables = variables.iter().map(|variable| {
            let (name, _) = variable
                .split_once('=')
                .unwrap_or_else(|| panic!("{code} is not covered by this test"));
            name.to_owned()
        });
        Some(Self {
            variables: variables.collect(),
            words,
        })
    }

    /// The word after a flag.
    fn value(&self, flag: &str) -> Option<&str> {
        let index = self.words.iter().position(|word| word == flag)?;
        self.words.get(index + 1).map(String::as_str)
    }

    /// Which tests `cargo test` runs: the argument that is no flag and no value of one.
    fn filter(&self) -> Option<&str> {
        let after_flag = |index: usize| ["-p", "--test"].contains(&self.words[index - 1].as_str());
        let mut arguments = (1..self.words.len()).filter(|&index| !after_flag(index));
        let filter = arguments.find(|&index| !self.words[index].starts_with('-'))?;
        let is_placeholder = self.words[filter] == "NAME";
        (!is_placeholder).then(|| self.words[filter].as_str())
    }
}

/// The commands of all documents, each once, with a document that has it.
fn commands() -> BTreeMap<Documented, PathBuf> {
    let mut commands = BTreeMap::new();
    for document in documents() {
        for code in document.code() {
            if let Some(command) = Documented::parse(&code) {
                commands.insert(command, document.path.clone());
            }
        }
    }
    assert!(commands.len() > 40, "{commands:?}");
    commands
}

/// The targets of a package of the workspace, of one kind: name and source file.
fn targets(package: &Value, kind: &str) -> Vec<(String, PathBuf)> {
    let targets = package["targets"].as_array().unwrap().iter();
    let targets = targets.filter(|target| target["kind"].as_array().unwrap().iter().any(|found| found == kind));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    targets
        .map(|target| (text(&target["name"]), PathBuf::from(text(&target["src_path"]))))
        .collect()
}

fn packages() -> Vec<Value> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let mut metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

/// The sources of a test target: its file, and the modules beside it if it has a directory of its own.
fn sources(file: &Path) -> Vec<PathBuf> {
    if file
        .file_name()
        .is_some_and(|name| name != "main.rs" && name != "lib.rs")
    {
        return vec![file.to_owned()];
    }
    let directory = file.parent().unwrap();
    let files = devtools::rust_files(directory).unwrap();
    files.into_iter().map(|path| directory.join(path)).collect()
}

/// Whether a source has a test whose path contains the filter: a function, or a module of tests.
fn has_test(source: &Path, filter: &str) -> bool {
    let text = fs::read_to_string(source).unwrap();
    let is_module = source
        .file_stem()
        .is_some_and(|stem| stem.to_string_lossy().contains(filter));
    let mut lines = text.lines().map(str::trim);
    let has_tests = ["#[test]", "#[tokio::test]"]
        .iter()
        .any(|attribute| text.contains(attribute));
    (is_module && has_tests)
        || lines.any(|line| {
            let function = line.trim_start_matches("async ").strip_prefix("fn ");
            let function = function.and_then(|rest| rest.split(['(', '<']).next());
            // A macro makes a test of each name.
            let listed = line.strip_suffix(',').filter(|name| name.chars().all(is_identifier));
            function.or(listed).is_some_and(|name| name.contains(filter))
        })
}

fn is_identifier(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The help text of `cargo xtask` with these arguments, which fails if one of them is not valid. One at a time: each builds a
/// program.
pub(crate) fn help<S: AsRef<OsStr> + Debug>(arguments: &[S]) -> String {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.args(arguments).arg("--help").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_documented_xtask_command_accepts_its_arguments() {
    for (command, document) in commands() {
        if command.words[0] == "xtask" {
            println!("{}", document.display());
            help(&command.words[1..]);
        }
    }
}

#[test]
fn every_documented_cargo_command_names_packages_targets_tests_and_variables_that_exist() {
    let packages = packages();
    let mut filters = 0;
    for (command, document) in commands() {
        let context = format!("{}: {command:?}", document.display());
        let package = command.value("-p").map(|name| {
            let package = packages.iter().find(|package| package["name"] == name);
            package.unwrap_or_else(|| panic!("no package {name}: {context}"))
        });
        match command.words[0].as_str() {
            "xtask" | "package" | "tree" => assert!(command.variables.is_empty(), "{context}"),
            "run" => {
                let package = package.unwrap_or_else(|| panic!("no package: {context}"));
                let (kind, name) = match command.value("--example") {
                    Some(example) => ("example", example),
                    None => ("bin", package["name"].as_str().unwrap()),
                };
                assert!(
                    targets(package, kind).iter().any(|(found, _)| found == name),
                    "{context}"
                );
            }
            "test" => {
                let package = package.unwrap_or_else(|| panic!("no package: {context}"));
                let kind = if command.words.contains(&"--lib".to_owned()) {
                    "lib"
                } else {
                    "test"
                };
                let mut targets = targets(package, kind);
                if let Some(name) = command.value("--test") {
                    targets.retain(|(found, _)| found == name);
                }
                assert!(!targets.is_empty(), "no target: {context}");
                // Without `--test`, the others have no such test, and nothing runs.
                if let Some(filter) = command.filter() {
                    filters += 1;
                    let has = |file: &PathBuf| sources(file).iter().any(|source| has_test(source, filter));
                    targets.retain(|(_, file)| has(file));
                    assert!(!targets.is_empty(), "no test: {context}");
                }
                for (name, file) in &targets {
                    for variable in &command.variables {
                        assert!(reads(file, variable), "{variable} is not read by {name}: {context}");
                    }
                }
            }
            _ => panic!("not covered by this test: {context}"),
        }
    }
    assert!(filters >= 3, "{filters}");
}

/// Whether a test target reads an environment variable: itself, in a module beside it, or as a parameter of proptest.
fn reads(file: &Path, variable: &str) -> bool {
    let contains = |path: PathBuf, text: &str| fs::read_to_string(path).unwrap().contains(text);
    if ["PROPTEST_CASES", "PROPTEST_RNG_SEED"].contains(&variable) {
        return sources(file).into_iter().any(|path| contains(path, "proptest! {"));
    }
    let tests = file.ancestors().find(|directory| directory.ends_with("tests")).unwrap();
    let files = devtools::rust_files(tests).unwrap();
    let quoted = format!("\"{variable}\"");
    files.iter().any(|path| contains(tests.join(path), &quoted))
}

/// What is not documented as Cargo's command has a test that runs it.
#[test]
fn every_block_of_code_is_checked_by_a_test() {
    let covered = BTreeSet::from([
        // This file; `testenv::readme` starts the controllers.
        ("README.md", "sh"),
        // crates/deploy/tests/real/built_in.rs
        ("docs/migrate.md", "sh"),
        // bins/endpointslice-controller/tests/real/operate.rs
        ("docs/operate.md", "sh"),
        // crates/manifests/tests/control_plane/readme.rs
        ("deploy/README.md", "sh"),
        ("deploy/README.md", "yaml"),
        // crates/slice-runtime/tests/sim/library_page.rs
        ("docs/library.md", "json"),
        ("docs/library.md", "rust"),
        ("docs/library.md", "sh"),
        ("docs/library.md", "toml"),
        ("docs/library.md", "yaml"),
        // A suggestion from before there was code.
        ("docs/spec/generic-reconciler.md", "rust"),
    ]);
    let documents = documents();
    let mut found = BTreeSet::new();
    for document in &documents {
        let path = document.path.to_str().unwrap();
        for block in document.blocks() {
            match block.language {
                "" | "text" => {
                    let mut commands = block.lines.iter().filter(|line| Documented::parse(line).is_some());
                    assert_eq!(commands.next(), None, "{path}: a command in a block without `sh`");
                }
                language => drop(found.insert((path, language))),
            }
            if path == "README.md" && block.language == "sh" {
                let controllers = ["endpointslice-controller", "endpointslice-mirroring-controller"];
                for line in block.lines {
                    let is_controller = |name| line.starts_with(&format!("cargo run --release -p {name} -- "));
                    assert!(
                        line.starts_with("cargo xtask ") || controllers.into_iter().any(is_controller),
                        "{line}"
                    );
                }
            }
        }
    }
    assert_eq!(found, covered);
}

/// Commands of other programs are in blocks, whose lines the tests above run one by one, except for these.
#[test]
fn commands_of_other_programs_are_executed_by_tests() {
    let inline = BTreeSet::from([
        // bins/endpointslice-controller/tests/real/operate.rs, which also requests the URL of curl
        "kubectl --namespace endpointslice-system set env deployment/endpointslice-controller ENDPOINTSLICE_V=4",
        "curl --insecure --header \"Authorization: Bearer TOKEN\" https://NODE:10267/debug/state",
    ]);
    let is_command = |span: &String| {
        let mut words = span.split_whitespace();
        let programs = ["kubectl", "helm", "curl", "docker", "skopeo", "crane", "ctr"];
        // A name with a subcommand is mentioned only.
        words.next().is_some_and(|word| programs.contains(&word)) && words.count() > 2
    };
    let documents = documents();
    let spans = documents.iter().flat_map(Document::code_spans);
    let found: BTreeSet<String> = spans.filter(is_command).collect();
    assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), inline);
}

/// CI runs the command that README.md names.
#[test]
fn ci_runs_all_tests() {
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert_eq!(ci.lines().last(), Some("exec cargo xtask test"));
}
