//! Figures and versions in documents equal those of the place that they come from.

use std::fs;

use crate::markdown::{document, documents, root};

/// The words after `before` that begin with a digit, as far as they are a version.
fn versions_after<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let ends = text
        .match_indices(before)
        .map(|(index, found)| &text[index + found.len()..]);
    let versions = ends.filter(|rest| rest.starts_with(|character: char| character.is_ascii_digit()));
    let version = |rest: &'a str| {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
        rest[..end.unwrap_or(rest.len())].trim_end_matches('.')
    };
    versions.map(version).collect()
}

/// The rest of the first line of a file that begins with `start`.
fn line_of(file: &str, start: &str) -> String {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(start));
    line.unwrap_or_else(|| panic!("{file} has no line {start}")).to_owned()
}

#[test]
fn versions_in_documents_are_those_of_the_manifests() {
    let kubernetes = line_of("xtask/upstream/go.mod", "k8s.io/kubernetes v");
    let rust = line_of("Cargo.toml", "rust-version = ");
    let rust = rust.trim_matches('"');
    let go = line_of("xtask/upstream/go.mod", "go ");
    let go = go.strip_suffix(".0").unwrap_or(&go);
    let mut found = [0; 3];
    // The specification compares releases, and the reference pages are generated.
    for document in documents()
        .iter()
        .filter(|document| !document.path.starts_with("docs/spec"))
    {
        let text = document.paragraphs().join("\n");
        let path = document.path.display();
        for version in [
            "kube-controller-manager v",
            "Kubernetes v",
            "built-in (v",
            "the reference is ",
        ]
        .iter()
        .flat_map(|before| versions_after(&text, before))
        {
            found[0] += 1;
            assert_eq!(version, kubernetes, "{path}: Kubernetes");
        }
        for version in ["Rust ", "Rust version: "]
            .iter()
            .flat_map(|before| versions_after(&text, before))
        {
            found[1] += 1;
            assert_eq!(version, rust, "{path}: Rust");
        }
        for version in versions_after(&text, "Go ") {
            found[2] += 1;
            assert_eq!(version, go, "{path}: Go");
        }
    }
    assert!(found[0] >= 3 && found[1] >= 8 && found[2] >= 2, "{found:?}");
}

/// README.md has the counts of the table in docs/reliability.md, which has a row for each scenario.
#[test]
fn figures_of_past_failures_are_those_of_the_table() {
    let reliability = document("docs/reliability.md").text;
    let rows: Vec<Vec<&str>> = reliability
        .lines()
        .skip_while(|line| !line.starts_with("| # | what is checked |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split(" | ").collect())
        .collect();
    let upstream_fails = rows.iter().filter(|row| row[3].starts_with("fails: ")).count();
    assert!(rows.iter().all(|row| row[2] == "ok"), "{rows:?}");
    let row = format!(
        "| {} past failures of upstream | has {upstream_fails} of them | has none |",
        rows.len()
    );
    let readme = document("README.md").text;
    assert!(readme.contains(&row), "README.md lacks: {row}");

    let tests = fs::read_to_string(root().join("crates/conformance/tests/control_plane.rs")).unwrap();
    let scenarios = tests.lines().filter(|line| line.trim().starts_with("upstream_"));
    assert_eq!(rows.len(), scenarios.count(), "rows of docs/reliability.md");
}
