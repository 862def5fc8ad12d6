//! Output and exit code of `cargo xtask vectors`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Command,
};

use devtools::error_line;
use flate2::read::MultiGzDecoder;
use serde_json::Value;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_vectors"))
}

#[test]
fn missing_arguments_are_named_in_one_error_line() {
    let line = error_line(&program().args(["--record", "--seed", "1"]).output().unwrap());
    for missing in ["--kind", "--count", "--output"] {
        assert!(line.contains(missing), "{line}");
    }
}

/// Numbers of steps in the last line: all, equal, excused, failed.
fn counts(text: &str) -> [u64; 4] {
    let last = text.lines().last().unwrap();
    let numbers: Vec<u64> = last
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let [steps, equal, excused, failed] = numbers[..] else {
        panic!("{last}");
    };
    assert_eq!(
        last,
        format!("vectors: {steps} steps, {equal} equal, {excused} excused, {failed} failed")
    );
    [steps, equal, excused, failed]
}

/// Our results of the recorded steps equal upstream's, including the numbers of writes (G-35). At most a fifth of the steps differ,
/// by documented deviations.
#[test]
fn recorded_steps_have_upstreams_results() {
    let output = program().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let [steps, _, excused, failed] = counts(&text);
    assert_eq!((steps, failed), (2220, 0));
    assert!(excused * 5 <= steps, "{text}");
}

/// A step with another result fails, and its differences are printed.
#[test]
fn step_with_another_result_fails() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let recorded = fs::File::open(crates.join("slice-reconciler/tests/vectors/service.jsonl.gz")).unwrap();
    let mut lines = BufReader::new(MultiGzDecoder::new(recorded))
        .lines()
        .map(Result::unwrap);
    let mut chain: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    let steps = chain["steps"].as_array().unwrap().len() as u64;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("chain.jsonl");
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
        error_line(&output),
        "error: 1 steps differ from upstream or could not be replayed"
    );
    assert_eq!(counts(&text), [steps, steps - 1, 0, 1]);
    let name = chain["name"].as_str().unwrap();
    assert!(text.contains(&format!("{name} step 0 (")), "{text}");
    assert!(text.contains("\nendpoints of "), "{text}");
    let upstreams = text.lines().filter(|line| line.contains("10.99.99.99"));
    assert_eq!(upstreams.count(), 1, "{text}");

    // A step that cannot be replayed fails, and the others are still replayed.
    chain["steps"][0]["service"]["metadata"]["uid"] = Value::Null;
    let (output, text) = replay(&chain);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(counts(&text), [steps, steps - 1, 0, 1]);
    assert!(text.contains("\nreplay failed: Service "), "{text}");
}
