//! `cargo xtask vectors` as a person runs it: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Output},
};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_vectors"))
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
fn a_missing_argument_is_named_in_one_line() {
    let line = one_line(&program().args(["--record", "--seed", "1"]).output().unwrap());
    for missing in ["--kind", "--count", "--output"] {
        assert!(line.contains(missing), "{line}");
    }
}

/// The numbers of steps in the closing line of `cargo xtask vectors`: all, equal, excused, failed.
fn counts(text: &str) -> [u64; 4] {
    let closing = text.lines().last().unwrap();
    let numbers: Vec<u64> = closing
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    let [steps, equal, excused, failed] = numbers[..] else {
        panic!("{closing}");
    };
    assert_eq!(
        closing,
        format!("vectors: {steps} steps, {equal} equal, {excused} excused, {failed} failed")
    );
    [steps, equal, excused, failed]
}

/// What we would do about recorded steps equals what upstream did, but for documented deviations (at most a fifth). G-35: so do
/// the numbers of writes.
#[test]
fn the_vectors_are_answered_as_upstream_does() {
    let output = program().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let [steps, _, excused, failed] = counts(&text);
    assert_eq!((steps, failed), (2220, 0));
    assert!(excused * 5 <= steps, "{text}");
}

/// A step to which upstream answered otherwise fails, and is printed with what differs.
#[test]
fn a_vector_that_is_answered_otherwise_fails() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let recorded = fs::File::open(crates.join("slice-reconciler/tests/vectors/service.jsonl.gz")).unwrap();
    let mut lines = BufReader::new(MultiGzDecoder::new(recorded))
        .lines()
        .map(Result::unwrap);
    let mut chain: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    let steps = chain["steps"].as_array().unwrap().len() as u64;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("chain.jsonl");
    let replay = |chain: &Value| {
        fs::write(&file, chain.to_string()).unwrap();
        let output = program().arg(&file).output().unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        (output, text)
    };

    let (output, text) = replay(&chain);
    assert!(output.status.success(), "{text}");
    assert_eq!(counts(&text), [steps, steps, 0, 0]);

    let address = &mut chain["steps"][0]["expect"]["creates"][0]["endpoints"][0]["addresses"][0];
    assert!(address.is_string(), "{address}");
    *address = "10.99.99.99".into();
    let (output, text) = replay(&chain);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        one_line(&output),
        "error: 1 steps differ from upstream, or have no answer"
    );
    assert_eq!(counts(&text), [steps, steps - 1, 0, 1]);
    let name = chain["name"].as_str().unwrap();
    assert!(text.contains(&format!("{name} step 0 (")), "{text}");
    assert!(text.contains("\nendpoints of "), "{text}");
    let upstreams = text.lines().filter(|line| line.contains("10.99.99.99"));
    assert_eq!(upstreams.count(), 1, "{text}");

    // A step that cannot be answered does not keep the others from being counted.
    chain["steps"][0]["service"]["metadata"]["uid"] = Value::Null;
    let (output, text) = replay(&chain);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(counts(&text), [steps, steps - 1, 0, 1]);
    assert!(text.contains("\nno answer: Service "), "{text}");
}
