//! `cargo xtask spec-coverage`: checks that tests cover every rule and test case of the specification.
//!
//! A rule or test case without coverage needs a row with the reason in the list of exceptions.

mod coverage;
mod deviations;
mod ids;
mod rules;
mod sources;

use std::{collections::BTreeSet, fs, path::Path, process::ExitCode};

use anyhow::Context as _;
use clap::Parser;
use devtools::{read, rust_files};

use self::coverage::Coverage;

const SPECIFICATIONS: &str = "docs/spec";
/// The index of the specification. It explains the ids and defines none.
const INDEX: &str = "README.md";
/// Rules and test cases that no test covers, with the reason.
const EXCEPTIONS: &str = "docs/uncovered.md";
/// The tests of these programs mention ids as examples and cover none.
const NOT_SEARCHED: [&str; 4] = [
    "crates/conformance/src",
    "crates/demo/src",
    "crates/spec-coverage/src",
    "crates/vectors/src",
];

/// Check that tests cover every rule and test case of docs/spec
#[derive(Debug, Parser)]
#[command(name = "cargo xtask spec-coverage", bin_name = "cargo xtask spec-coverage")]
struct Args {
    /// Also print the rules and test cases that no test covers, with the reason
    #[arg(long = "uncovered")]
    exceptions: bool,
}

fn main() -> ExitCode {
    devtools::run(run)
}

fn run(args: &Args) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut coverage = Coverage::default();
    let mut specifications = String::new();
    for file in specification_files(&root)? {
        let text = read(&root.join(&file))?;
        coverage.add_specification(&file, &text);
        specifications.push_str(&text);
    }
    let mut tests = BTreeSet::new();
    for file in rust_files(&root)? {
        if NOT_SEARCHED.iter().any(|directory| file.starts_with(directory)) {
            continue;
        }
        for test in sources::tests(&read(&root.join(&file))?) {
            coverage.add_test(&format!("{}: {}", file.display(), test.name), &test);
            tests.insert(test.name);
        }
    }
    for (scenario, ids) in conformance::played() {
        coverage.add_scenario(&format!("scenario {scenario}"), &ids);
    }
    for deviation in vectors::deviations() {
        coverage.rules.cover("recorded steps", deviation);
    }
    coverage.add_exceptions(&read(&root.join(EXCEPTIONS))?);
    let mut findings = coverage.findings();
    let deviations = read(&root.join(deviations::FILE))?;
    findings.extend(deviations::findings(&deviations, &specifications, &tests));
    let allowed = conformance::excuses();
    findings.extend(deviations::undocumented(&deviations, &allowed));
    coverage.report(args.exceptions, &findings)
}

/// Paths of the specification files, without the index.
fn specification_files(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let directory = root.join(SPECIFICATIONS);
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let names = names.filter(|name| name != INDEX);
    Ok(names.map(|name| format!("{SPECIFICATIONS}/{name}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_no_specification_file() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join(SPECIFICATIONS);
        fs::create_dir_all(&directory).unwrap();
        for name in [INDEX, "invariants.md", "mirroring.md"] {
            fs::write(directory.join(name), "").unwrap();
        }
        let files: Vec<String> = specification_files(root.path()).unwrap().into_iter().collect();
        assert_eq!(files, ["docs/spec/invariants.md", "docs/spec/mirroring.md"]);
    }
}
