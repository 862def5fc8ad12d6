//! What the documents name exists: commands, links, paths, types, flags, metrics, alerts and log lines; and figures are right.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod commands;
mod figures;
mod links;
mod log_lines;
mod markdown;
mod names;

use std::{fs, path::Path};

use markdown::{documents, root};

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
    let (mut paths, mut types) = (0, 0);
    // Paths in the specification are upstream's.
    for document in documents()
        .iter()
        .filter(|document| !document.path.starts_with("docs/spec"))
    {
        for code in document.code_spans() {
            let code = code.as_str();
            if is_path(code) {
                paths += 1;
                let exists = BASES.iter().any(|base| root().join(base).join(code).exists());
                assert!(exists, "{}: no file {code}", document.path.display());
            }
            if let Some((package, name)) = type_in(code) {
                types += 1;
                let source = root().join("crates").join(package.replace('_', "-")).join("src");
                assert!(declares(&source, name), "{}: no type {code}", document.path.display());
            }
        }
    }
    assert!(paths > 40 && types > 15, "{paths} paths, {types} types");
}
