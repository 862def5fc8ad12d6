//! Failures of `cargo xtask control-plane`: one-line errors.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use devtools::error_line;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_control-plane-assets"))
}

/// Runs the command with this cache directory and `PATH`.
fn control_plane(cache: &Path, path: &Path) -> Output {
    program()
        .env("XDG_CACHE_HOME", cache)
        .env("PATH", path)
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap()
}

#[test]
fn without_go_the_error_names_the_remedies() {
    let empty = tempfile::tempdir().unwrap();
    let line = error_line(&control_plane(empty.path(), empty.path()));
    assert!(line.contains("Go") && line.contains("KUBEBUILDER_ASSETS"), "{line}");
}

#[test]
fn a_failed_build_is_a_one_line_error_and_leaves_no_program() {
    let cache = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    let go = bin.path().join("go");
    fs::write(&go, "#!/bin/sh\necho 'no space left on device' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
    let line = error_line(&control_plane(cache.path(), bin.path()));
    assert!(
        line.contains("etcd") && line.contains("no space left on device"),
        "{line}"
    );
    let programs: Vec<_> = files_below(cache.path())
        .into_iter()
        .filter(|name| name.contains("etcd"))
        .collect();
    assert_eq!(programs, Vec::<String>::new());
}

#[test]
fn a_missing_or_empty_assets_directory_is_named_in_the_error() {
    let empty = tempfile::tempdir().unwrap();
    for directory in [empty.path().to_owned(), empty.path().join("missing")] {
        let output = program().env("KUBEBUILDER_ASSETS", &directory).output().unwrap();
        let line = error_line(&output);
        assert!(
            line.contains("KUBEBUILDER_ASSETS") && line.contains(directory.to_str().unwrap()),
            "{line}"
        );
    }
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}
