//! The code blocks and commands of `docs/library.md` are those of compiled and tested files.

use std::collections::BTreeSet;

use crate::scenario::page::{PAGE, blocks};

const EXAMPLE: &str = include_str!("../../examples/multus.rs");
const MANIFEST: &str = include_str!("../../examples/consumer/Cargo.toml");
/// Other files with code that the page shows.
const SOURCES: [&str; 3] = [
    include_str!("../../../slice-reconciler/examples/custom_owner.rs"),
    include_str!("../real/multus.rs"),
    include_str!("multus.rs"),
];

/// The text without indentation, which differs where a block shows a part of a function.
fn unindented(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim_start(), "\n"]).collect()
}

#[test]
fn the_page_shows_the_whole_example_and_only_compiled_code() {
    let code = EXAMPLE.lines().filter(|line| !line.starts_with("//!"));
    let mut not_shown = unindented(&code.collect::<Vec<_>>().join("\n"));
    for block in blocks("rust") {
        let block = unindented(&block);
        if not_shown.contains(&block) {
            not_shown = not_shown.replacen(&block, "", 1);
        } else {
            let mut sources = SOURCES.iter();
            assert!(
                sources.any(|source| unindented(source).contains(&block)),
                "no file has this code:\n{block}"
            );
        }
    }
    assert_eq!(not_shown.trim(), "", "code of the example that the page does not show");
}

/// Without comments and empty lines.
#[test]
fn the_page_has_the_number_of_lines_of_the_example() {
    let code = EXAMPLE.lines().map(str::trim_start);
    let lines = code.filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    let link = "[`multus.rs`](../crates/slice-runtime/examples/multus.rs): ";
    assert!(PAGE.contains(&format!("{link}{lines} lines of code.")), "{lines} lines");
}

/// The manifest is that of the program outside the workspace, which `cargo xtask test` builds.
#[test]
fn the_page_shows_the_dependencies_of_a_program_outside_the_workspace() {
    let (_, dependencies) = MANIFEST.split_once("[dependencies]").unwrap();
    let clone = "../endpointslice-rs/crates/";
    let dependencies = dependencies.replace("../../../", clone);
    let dependencies = dependencies.replace(r#""../..""#, &format!(r#""{clone}slice-runtime""#));
    assert_eq!(blocks("toml"), [format!("[dependencies]{dependencies}")]);
}

/// The first command is run by a test of the example, and the second one here.
#[test]
fn the_commands_of_the_page_succeed() {
    let [_, command] = &blocks("sh")[..] else {
        panic!("two commands expected");
    };
    let arguments = command.trim().strip_prefix("cargo ").unwrap();
    let output = devtools::cargo().args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("2 slices written, 0 failed"), "{output}");
}

/// No block escapes the other tests: Rust, TOML and commands are checked here, JSON and YAML are the objects of the scenario.
#[test]
fn the_page_has_blocks_in_tested_languages_only() {
    let fences = PAGE.lines().filter_map(|line| line.strip_prefix("```"));
    let languages: BTreeSet<&str> = fences.filter(|language| !language.is_empty()).collect();
    assert_eq!(
        languages,
        BTreeSet::from(["json", "rust", "sh", "text", "toml", "yaml"])
    );
}
