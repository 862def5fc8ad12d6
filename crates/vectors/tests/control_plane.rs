//! Recording of new chains, which needs Go.

use std::{ffi::OsStr, fs, process::Command};

use serde_json::Value;

/// Newly recorded chains replay without failures.
#[test]
fn newly_recorded_chains_have_upstreams_results() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&OsStr]| {
        let output = Command::new(env!("CARGO_BIN_EXE_vectors"))
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        text
    };
    for kind in ["service", "mirroring"] {
        let file = directory.path().join(format!("{kind}.jsonl"));
        let mut arguments = ["--record", "--kind", kind, "--seed", "7", "--count", "20", "--output"]
            .map(OsStr::new)
            .to_vec();
        arguments.push(file.as_os_str());
        run(&arguments);
        let recorded = fs::read_to_string(&file).unwrap();
        let steps: usize = recorded
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["steps"]
                    .as_array()
                    .unwrap()
                    .len()
            })
            .sum();
        assert_eq!(recorded.lines().count(), 20);
        let text = run(&[file.as_os_str()]);
        let last = text.lines().last().unwrap();
        assert!(last.starts_with(&format!("vectors: {steps} steps, ")), "{last}");
        assert!(last.ends_with(" excused, 0 failed"), "{last}");
    }
}
