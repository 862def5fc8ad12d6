//! Runs `cargo xtask` commands as processes and checks output and exit code.

use std::{fs, path::Path, process::Command};

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

/// Every command in README.md and docs/migrate.md exists with its arguments. They are run by steps of `cargo xtask test` and by the
/// tests of the programs behind them; those of the two controllers by the tests of the controllers (`testenv::readme`).
#[test]
fn documented_commands_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let documents = ["README.md", "docs/migrate.md"].map(|name| fs::read_to_string(root.join(name)).unwrap());
    let documents = documents.concat();
    let blocks = documents
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
