//! `cargo xtask catalogue` of this repository.

use std::process::Command;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_spec-coverage"))
}

/// Every test case and every rule of the specifications is shown or left out for a reason, and deviations lead to their
/// tests.
#[test]
fn the_catalogue_is_complete() {
    let output = program().arg("--left-out").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\nT-EP-01: the legacy Endpoints controller"), "{text}");
    assert!(text.contains("\nM35: a key is a type here"), "{text}");
    assert!(
        text.lines().last().unwrap().ends_with(" left out, 0 complaints"),
        "{text}"
    );
}
