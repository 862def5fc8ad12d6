//! The commands as a person runs them: what they print, and how they end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
}

/// The one line that a failing command says.
fn one_line(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let complaints: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(complaints.len(), 1, "{text}");
    assert!(text.trim_end().ends_with(complaints[0]), "{text}");
    complaints[0].to_owned()
}

#[test]
fn an_unknown_command_or_none_is_one_line() {
    let output = xtask().arg("tset").output().unwrap();
    assert_eq!(
        one_line(&output),
        "error: unrecognized subcommand 'tset'; `cargo xtask --help` lists what there is"
    );
    let output = xtask().output().unwrap();
    assert_eq!(
        one_line(&output),
        "error: a command is needed; `cargo xtask --help` lists what there is"
    );
}

#[test]
fn help_lists_the_commands() {
    let output = xtask().arg("--help").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for command in ["test", "demo", "catalogue", "control-plane", "fuzz"] {
        assert!(text.contains(command), "{command} is missing in:\n{text}");
    }
}

/// Programs of other crates get their arguments unchanged, and their exit codes come back.
#[test]
fn a_program_parses_its_own_arguments() {
    let output = xtask().args(["vectors", "--help"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("Usage: cargo xtask vectors ") && text.contains("--record"),
        "{text}"
    );
    let output = xtask().args(["vectors", "--seed", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line = one_line(&output);
    assert!(
        line.ends_with("; `cargo xtask vectors --help` lists what there is"),
        "{line}"
    );
}

#[test]
fn without_cargo_fuzz_the_command_says_what_to_install() {
    let empty = tempfile::tempdir().unwrap();
    let line = one_line(&xtask().arg("fuzz").env("PATH", empty.path()).output().unwrap());
    assert!(line.contains("cargo install cargo-fuzz"), "{line}");
}

/// Every command in README.md exists: ours are tried here, those of the programs by their own tests
/// (`testenv::documented`).
#[test]
fn documented_commands_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let blocks = readme
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let (ours, programs): (Vec<&str>, Vec<&str>) = blocks
        .flat_map(str::lines)
        .partition(|line| line.starts_with("cargo xtask "));
    assert!(
        ours.contains(&"cargo xtask test") && ours.contains(&"cargo xtask demo"),
        "{ours:?}"
    );
    for command in ours {
        let arguments = command.split_whitespace().skip(2);
        let output = xtask().args(arguments).arg("--help").output().unwrap();
        assert!(output.status.success(), "{command}");
    }
    let packages = ["endpointslice-controller", "endpointslice-mirroring-controller"];
    let known = packages.map(|package| format!("cargo run --release -p {package} -- "));
    for command in programs {
        assert!(known.iter().any(|known| command.starts_with(known)), "{command}");
    }
    let ci = fs::read_to_string(root.join(".ci/run")).unwrap();
    assert_eq!(ci.lines().last(), Some("exec cargo xtask test"));
}
