//! Runs `cargo xtask` commands as processes and checks output and exit code.

use std::process::Command;

use devtools::error_line;

fn xtask() -> Command {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
}

#[test]
fn an_unknown_or_missing_command_is_a_one_line_error() {
    let output = xtask().arg("tset").output().unwrap();
    assert_eq!(
        error_line(&output),
        "error: unrecognized subcommand 'tset'; see `cargo xtask --help`"
    );
    let output = xtask().output().unwrap();
    assert_eq!(
        error_line(&output),
        "error: a command is required; see `cargo xtask --help`"
    );
}

#[test]
fn help_lists_the_commands() {
    let output = xtask().arg("--help").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for command in ["test", "demo", "spec-coverage", "catalogue", "control-plane", "fuzz"] {
        assert!(text.contains(command), "{command} is missing in:\n{text}");
    }
}

/// Arguments are passed on unchanged to the program, and its exit code is returned.
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
    let line = error_line(&output);
    assert!(line.ends_with("; see `cargo xtask vectors --help`"), "{line}");
}

/// As CONTRIBUTING.md shows it.
#[test]
fn a_random_schedule_is_repeated_by_its_seed() {
    let arguments = ["simulate", "--schedules", "1", "--seed", "7", "--trace"];
    let [first, second] = [(); 2].map(|()| xtask().args(arguments).output().unwrap());
    assert!(first.status.success(), "{first:?}");
    assert_eq!(first.stdout, second.stdout);
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(
        text.contains("schedules 1, ") && text.contains("violations 0"),
        "{text}"
    );
}

#[test]
fn conformance_lists_its_scenarios() {
    let output = xtask().args(["conformance", "--list"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.lines().any(|line| line.starts_with("two-services-share-pods: ")),
        "{text}"
    );
}

/// The benchmark fails if there are too many requests, or if keys are lost.
#[test]
fn bench_overload_counts_requests() {
    let arguments = [
        "bench",
        "overload",
        "--services",
        "50",
        "--seconds",
        "2",
        "--profile",
        "dev",
    ];
    let output = xtask().args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("requests of all kinds within a second"), "{text}");
    assert!(text.contains("50 slices were created"), "{text}");
}

#[test]
fn without_cargo_fuzz_the_error_names_the_command_to_install_it() {
    let empty = tempfile::tempdir().unwrap();
    let line = error_line(&xtask().arg("fuzz").env("PATH", empty.path()).output().unwrap());
    assert!(line.contains("cargo install cargo-fuzz"), "{line}");
}
