//! Runs the spec coverage check on this repository.

use std::process::Command;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_spec-coverage"))
}

/// Every rule and test case of the specification is covered or an exception with a reason, and every deviation lists existing
/// tests.
#[test]
fn spec_coverage_is_complete() {
    let output = program().arg("--uncovered").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\nT-EP-01: the legacy Endpoints controller"), "{text}");
    assert!(text.contains("\nM35: a key is a type here"), "{text}");
    assert!(text.ends_with("\nfindings: 0\n"), "{text}");
}
